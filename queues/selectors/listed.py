"""A page of a long list of jobs: cheap however many there are, and however deep it lies."""

from __future__ import annotations

from typing import Final

from django.db.models import QuerySet

from queues.models import Workload
from queues.models.observed import URGENCY, nearness, urgency

#: Every order goes one way, so that the database can jump to the place of a page.
ORDERS: Final = {
    "attention": ("-urgency", "-nearness", "-created_at"),
    "newest": ("-created_at",),
    "size": ("-devices", "-created_at"),
}


def ordered(jobs: QuerySet[Workload], state: str = "") -> QuerySet[Workload]:
    """Give jobs the numbers by which they are sorted; ``state`` is the only state among them."""
    rows = jobs.annotate(urgency=urgency(), nearness=nearness())
    # Said once more in the words of the index, so that it begins where this state begins.
    return rows.filter(urgency=URGENCY.index(state)) if state in URGENCY else rows
