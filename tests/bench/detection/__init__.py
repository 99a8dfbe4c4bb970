"""Tests of the detection benchmark: its figures against naive ones, and that it runs the shipped pipeline causally."""
