"""Small real training and inference jobs on the CPU, run one after the other while the exporter records the host."""
