"""How well the shipped pipeline detects on labelled telemetry of others: causal, fitted on the train split only."""
