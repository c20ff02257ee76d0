"""App configuration of the effect side."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class QueuesConfig(AppConfig):
    """Plans, applies and observations."""

    name = "queues"
    verbose_name = _("Queues")

    def ready(self) -> None:
        """Connect the receivers that turn committed work into wake-ups."""
        from queues import receivers  # noqa: F401 - connecting is the import's effect
