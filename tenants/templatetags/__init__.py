"""Template tags of the intent side."""
