"""The detector judges: windows of hardware signals in, calibrated anomaly scores and causes out."""
