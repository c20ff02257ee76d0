"""What gunicorn runs."""

import os

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.handlers.wsgi import WSGIHandler
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")


def make_application() -> WSGIHandler:
    """Refuse to serve with a key in reach that could open the clusters' credentials."""
    if settings.SEALING_PRIVATE_KEY:
        message = (
            "GPUPORTAL_SEALING_PRIVATE_KEY is set for the web process. "
            "Only worker and observer may have it."
        )
        raise ImproperlyConfigured(message)
    return get_wsgi_application()


application = make_application()
