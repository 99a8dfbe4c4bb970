"""One file for each format of recordings, see ``detector.recording.Format``."""
