"""The project's own app: commands and what happens after a migration."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class PortalConfig(AppConfig):
    """Settings, processes and commands."""

    name = "portal"
    label = "portal"
    verbose_name = "Portal"

    def ready(self) -> None:
        """Load the Celery app, and give the application's role its rights after a migration."""
        # Every process needs it: a task that is sent from a page goes through this app.
        import portal.celery  # noqa: F401

        post_migrate.connect(grant_rights, dispatch_uid="portal.grant_rights")


def grant_rights(sender: AppConfig, using: str, **details: Any) -> None:
    """Run once per migrate, after the last app: only then do all tables exist.

    The signal is also sent when tables are emptied; only a migration brings a plan with it.
    """
    if "plan" not in details:
        return
    from django.apps import apps

    from portal.grants import grant

    last = [config for config in apps.get_app_configs() if config.models_module][-1]
    if sender.label == last.label:
        grant(using)
