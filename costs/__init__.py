"""Money and GPU-hours; reads the other apps, is read by none."""
