"""Benchmarks: each prints a table and ends with one line of JSON. All run the real programs, live."""
