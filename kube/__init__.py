"""Knowledge of Kubernetes and Kueue in plain Python: no Django, no database."""
