"""Every label, annotation and field manager name that the portal writes, in one place."""

from __future__ import annotations

from typing import Final

DOMAIN: Final = "gpuportal.io"
PREFIX: Final = DOMAIN + "/"

FIELD_MANAGER_QUOTA: Final = "gpuportal-quota"
FIELD_MANAGER_ACCESS: Final = "gpuportal-access"

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
MANAGED_BY_VALUE: Final = "gpuportal"
MANAGED: Final = PREFIX + "managed"
MANAGED_VALUE: Final = "true"
TENANT: Final = PREFIX + "tenant"

DISPLAY_NAME: Final = PREFIX + "display-name"
PURPOSE: Final = PREFIX + "purpose"
COST_CENTRE: Final = PREFIX + "cost-centre"

CAPABILITY: Final = PREFIX + "capability"
MODEL: Final = PREFIX + "model"
RESOURCE: Final = PREFIX + "resource"
DEVICE_KIND: Final = PREFIX + "device-kind"
MIG_PROFILE: Final = PREFIX + "mig-profile"
PURCHASE: Final = PREFIX + "purchase"
INTERCONNECT: Final = PREFIX + "interconnect"
REGION: Final = PREFIX + "region"
ZONE: Final = PREFIX + "zone"
RACK: Final = PREFIX + "rack"
POWER_DOMAIN: Final = PREFIX + "power-domain"
CPU_PER_DEVICE: Final = PREFIX + "cpu-per-device"
MEMORY_PER_DEVICE: Final = PREFIX + "memory-per-device"
CAPACITY: Final = PREFIX + "capacity"

REVISION: Final = PREFIX + "revision"
PLAN: Final = PREFIX + "plan"

#: Annotations that the apply step adds; they say who wrote last and are no part of the intent.
STAMPS: Final = frozenset({REVISION, PLAN})

#: Label key prefixes that people may not use: they have a meaning for a controller.
RESERVED_LABEL_DOMAINS: Final = ("kubernetes.io", "k8s.io", "x-k8s.io", DOMAIN)
