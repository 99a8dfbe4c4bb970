"""Incidents: what is kept of an episode when it is over."""
