"""What hosts of one job tell of each other: false alarms and power of the comparison with peers; see ``__main__``."""
