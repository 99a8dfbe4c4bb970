"""Tests of the exporter's engine. Collectors have theirs in ``collectors``."""
