"""Namespace: carries the tenant label by which its queues let its jobs in."""

from __future__ import annotations

from kube import keys
from kube.catalog import TenantSpec
from kube.manifest import Manifest
from kube.render.objects import build


def namespace(tenant: TenantSpec, name: str) -> Manifest:
    """Render one namespace of a tenant."""
    return build(
        "Namespace",
        name,
        {},
        api_version="v1",
        labels={keys.TENANT: tenant.slug},
        annotations={keys.DISPLAY_NAME: tenant.display_name},
    )
