"""Sources of samples, one each; found by ``detector.source.discover``."""
