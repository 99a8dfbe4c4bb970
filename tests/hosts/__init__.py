"""Captures of whole hosts."""
