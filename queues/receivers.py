"""Turns committed work into a wake-up of a worker."""

from __future__ import annotations

from typing import Any

from django.dispatch import receiver

from tenants.signals import work_ready


@receiver(work_ready, dispatch_uid="queues.wake")
def wake(sender: Any, *, cluster_id: int, **kwargs: Any) -> None:
    """Wake a worker once the surrounding transaction is committed."""
    from queues.tasks import tick

    tick.delay_on_commit(cluster_id)  # type: ignore[attr-defined]  # of WakeUp
