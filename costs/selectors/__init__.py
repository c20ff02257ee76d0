"""Reads rows of the reconciliation into what the plain part counts with."""
