"""The waiting line of one queue, a page at a time: own jobs by name, the others as counts.

Places count from 1. What stands before a job is told as a number, a size and by priority.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Count, Q, QuerySet, Sum

from queues.models import Workload
from queues.models.observed import line_place

WAITING: Final = "waiting"
ORDER: Final = ("place",)


@dataclass(frozen=True, slots=True)
class OfPriority:
    """The jobs of one priority: ``value`` is the number behind the class ``name``."""

    name: str
    value: int
    jobs: int
    devices: int


@dataclass(frozen=True, slots=True)
class Ahead:
    """What stands before a job, the highest priority first."""

    jobs: int = 0
    devices: int = 0
    by_priority: tuple[OfPriority, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """One job that the viewer may read by name, or a stretch of those that they may not."""

    first: int | None
    last: int | None
    jobs: int
    devices: int
    job: Workload | None
    ahead: Ahead


def waiting(cluster_id: int, queue: str) -> QuerySet[Workload]:
    """Give the waiting jobs of a queue, each with the ``place`` by which it is sorted."""
    rows = Workload.objects.filter(cluster_id=cluster_id, queue=queue, state=WAITING)
    return rows.select_related("cluster").annotate(place=line_place())


def moved(rows: QuerySet[Workload], place: list[Any]) -> list[Any]:
    """Give the place that a row has now, whose place a cursor holds; the old one if it is gone.

    So a page begins behind the row with which the page before it ended, however many jobs came
    or went in front of it meanwhile.
    """
    found = rows.filter(pk=place[-1]).first()
    return place_of(found) if found else place


def place_of(job: Workload) -> list[Any]:
    """Give the key of a row of ``waiting`` in the order of the line."""
    return [job.place, job.pk]  # type: ignore[attr-defined]


def ahead(groups: Iterable[OfPriority]) -> Ahead:
    """Sum up what stands before a job, by priority."""
    kept = tuple(groups)
    return Ahead(sum(each.jobs for each in kept), sum(each.devices for each in kept), kept)


def whole_and_before(rows: QuerySet[Workload], first: Workload | None) -> tuple[Ahead, Ahead]:
    """Sum the whole line, and what stands in front of one of its rows; one query."""
    place, key = place_of(first) if first else (0, 0)
    front = Q(place__lt=place) | Q(place=place, pk__lt=key)
    groups = (
        rows.order_by("-priority", "priority_class")
        .values_list("priority_class", "priority")
        .annotate(
            jobs=Count("pk"), sum=Sum("devices"),
            front=Count("pk", filter=front), front_sum=Sum("devices", filter=front),
        )
    )  # fmt: skip
    whole, before = [], []
    for name, value, jobs, devices, front_jobs, front_devices in groups:
        whole.append(OfPriority(name, value, jobs, int(devices)))
        if front_jobs:
            before.append(OfPriority(name, value, front_jobs, int(front_devices)))
    return ahead(whole), ahead(before)


def folded(jobs: Iterable[Workload], own: Collection[int], start: Ahead) -> list[Place]:
    """Turn a page of the line into places; ``start`` stands before its first row."""
    return list(_places(jobs, own, {(each.value, each.name): each for each in start.by_priority}))


Groups = dict[tuple[int, str], OfPriority]


def _places(jobs: Iterable[Workload], own: Collection[int], passed: Groups) -> Iterator[Place]:
    hidden: list[Workload] = []
    for job in jobs:
        if job.pk not in own:
            hidden.append(job)
            continue
        if hidden:
            yield _stretch(hidden, passed)
            hidden = []
        yield Place(job.position, job.position, 1, job.devices, job, _so_far(passed))
        _pass(passed, job)
    if hidden:
        yield _stretch(hidden, passed)


def _stretch(jobs: list[Workload], passed: Groups) -> Place:
    places = [job.position for job in jobs if job.position is not None]
    devices = sum(job.devices for job in jobs)
    before = _so_far(passed)
    for job in jobs:
        _pass(passed, job)
    return Place(
        min(places, default=None), max(places, default=None), len(jobs), devices, None, before
    )


def _so_far(passed: Groups) -> Ahead:
    return ahead(passed[key] for key in sorted(passed, key=lambda each: (-each[0], each[1])))


def _pass(passed: Groups, job: Workload) -> None:
    key = (job.priority, job.priority_class)
    old = passed.get(key, OfPriority(job.priority_class, job.priority, 0, 0))
    passed[key] = OfPriority(old.name, old.value, old.jobs + 1, old.devices + job.devices)
