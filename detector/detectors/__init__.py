"""The detectors, one file each; found by ``detector.detectors.registry``."""
