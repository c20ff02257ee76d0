"""The whole portal on this machine, with a real Kubernetes and Kueue, for a first look."""
