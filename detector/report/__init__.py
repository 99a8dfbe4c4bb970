"""Reports: what happened, where, since when, what to check and what to change, on one page."""
