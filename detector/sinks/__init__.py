"""Where verdicts go, one each; found by ``detector.sink.discover``."""
