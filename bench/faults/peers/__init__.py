"""Other ways to find what is wrong, on the same host and through the same Prometheus."""
