"""What the commands do, in modules that are imported once a command is asked for."""
