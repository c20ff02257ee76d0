"""Turns committed work into a wake-up of a worker, and a move into news for open pages."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db import transaction
from django.dispatch import receiver

from queues.services import announce
from tenants.models.states import moved
from tenants.signals import rights_changed, work_ready


@receiver(work_ready, dispatch_uid="queues.wake")
def wake(sender: Any, *, cluster_id: int, **kwargs: Any) -> None:
    """Wake a worker once the surrounding transaction is committed."""
    from queues.tasks import tick

    tick.delay_on_commit(cluster_id)  # type: ignore[attr-defined]  # of WakeUp


@receiver(moved, dispatch_uid="queues.announce")
def announce_move(sender: Any, *, row: announce.Row, **kwargs: Any) -> None:
    """Tell open pages that a request, a plan or an apply stands elsewhere now."""
    announce.moved(row)


@receiver(rights_changed, dispatch_uid="queues.look_again")
def look_again(sender: Any, *, user_id: int, **kwargs: Any) -> None:
    """Have a person's open streams looked at at once."""
    transaction.on_commit(partial(announce.look_again_at, user_id))
