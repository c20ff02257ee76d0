"""The app's configuration."""

from django.apps import AppConfig


class CostsConfig(AppConfig):
    """Money and GPU-hours."""

    name = "costs"
    verbose_name = "Costs"
