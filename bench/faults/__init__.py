"""Real faults on this host, put in one after another under changing loads, and who finds them."""
