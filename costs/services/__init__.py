"""What changes rows of the reconciliation."""
