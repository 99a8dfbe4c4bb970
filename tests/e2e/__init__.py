"""The whole of hostpulse on this host's real telemetry, with real faults."""
