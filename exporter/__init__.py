"""The exporter measures: hardware counters of one host, sampled at 100 ms, served over HTTP."""
