"""The app's configuration."""

from django.apps import AppConfig


class CostsConfig(AppConfig):
    """Money and GPU-hours."""

    name = "costs"
    verbose_name = "Costs"

    def ready(self) -> None:
        """Show on a tenant's home what it is asked."""
        from costs.selectors.cases import QUESTIONS
        from queues.selectors.tenants import BESIDE

        BESIDE["its_questions"] = QUESTIONS
