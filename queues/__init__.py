"""Effect: what the cluster is told and what it says back."""
