"""Collectors, one source each; found by ``exporter.collector.discover``."""
