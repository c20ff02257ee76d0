"""Commands of the effect side."""
