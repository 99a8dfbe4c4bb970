"""Diagnosis: what is likely behind an incident, by signatures that are data."""
