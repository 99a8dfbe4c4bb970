"""The signals, one module per subsystem."""
