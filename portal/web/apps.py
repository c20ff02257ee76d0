"""The app's configuration."""

from django.apps import AppConfig


class WebConfig(AppConfig):
    """The page shell; an app of its own so that its template tags are found."""

    name = "portal.web"
    label = "web"
    verbose_name = "Page shell"
