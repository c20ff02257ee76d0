"""Rows of the intent side."""

from tenants.models.audit import AuditEvent
from tenants.models.catalog import (
    Cluster,
    Department,
    Entry,
    Pool,
    Priority,
    Queue,
    QuotaLine,
    Revision,
    Tenant,
)
from tenants.models.changes import OpenTarget, Request
from tenants.models.people import Membership, PlatformRole, Session, SignInBrake, User

__all__ = [
    "AuditEvent",
    "Cluster",
    "Department",
    "Entry",
    "Membership",
    "OpenTarget",
    "PlatformRole",
    "Pool",
    "Priority",
    "Queue",
    "QuotaLine",
    "Request",
    "Revision",
    "Session",
    "SignInBrake",
    "Tenant",
    "User",
]
