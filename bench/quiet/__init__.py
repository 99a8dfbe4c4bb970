"""How often the shipped pipeline alarms on simulated healthy hosts, and what it finds on them; see ``__main__``."""
