"""Texts of a cluster that no rule knows: for those who mend the rules."""

from __future__ import annotations

from typing import Final

from queues.models import UnknownText
from tenants.models import Cluster

SHOWN: Final = 20


def unknown_texts(cluster: Cluster) -> list[UnknownText]:
    """Give the forms of texts that no rule knows, the last seen first; one query."""
    return list(UnknownText.objects.filter(cluster=cluster).order_by("-last_at", "pk")[:SHOWN])
