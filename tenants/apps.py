"""App configuration of the intent side."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class TenantsConfig(AppConfig):
    """Catalog, people, requests and the audit chain."""

    name = "tenants"
    verbose_name = _("Tenants")
