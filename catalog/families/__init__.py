"""The families, one module per source area."""
