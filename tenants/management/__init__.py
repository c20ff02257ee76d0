"""Commands of the intent side."""
