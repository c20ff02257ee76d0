"""Commands of the reconciliation."""
