"""Names of what pages can listen to, one for each thing that can look different.

tenant:nlp             a tenant's quota, jobs and open requests
queue:lab/nlp-train    a queue: its meters, jobs and places
job:lab/9f3c…          one workload, by its uid
cluster:lab            the objects of a cluster: queues, flavors, departments, nodes, its line
alive:lab              the observer's sign of life; its generation is the time, in µs
request:8a41…          a request with its plans and applies
requests  jobs         any request, any job: for pages that show all tenants
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from uuid import UUID

REQUESTS: Final = "requests"
JOBS: Final = "jobs"

_NAME: Final = r"[A-Za-z0-9._-]{1,253}"
_ALONE: Final = re.compile(rf"(tenant|cluster|alive|request):({_NAME})")
_WITHIN: Final = re.compile(rf"(queue|job):({_NAME})/({_NAME})")


class Topic(NamedTuple):
    """A topic in its parts: ``cluster`` only where the name counts within one."""

    kind: str
    name: str = ""
    cluster: str = ""


def read(text: str) -> Topic | None:
    """Take a topic apart; ``None`` for what is none."""
    if text in (REQUESTS, JOBS):
        return Topic(text)
    if match := _ALONE.fullmatch(text):
        return Topic(match[1], match[2])
    if match := _WITHIN.fullmatch(text):
        return Topic(match[1], match[3], match[2])
    return None


def tenant(slug: str) -> str:
    """Name a tenant's topic."""
    return f"tenant:{slug}"


def queue(cluster: str, name: str) -> str:
    """Name the topic of a queue in a cluster."""
    return f"queue:{cluster}/{name}"


def job(cluster: str, uid: str) -> str:
    """Name the topic of one workload in a cluster."""
    return f"job:{cluster}/{uid}"


def cluster(slug: str) -> str:
    """Name a cluster's topic."""
    return f"cluster:{slug}"


def alive(slug: str) -> str:
    """Name the topic of the sign of life from a cluster's observer."""
    return f"alive:{slug}"


def request(pk: UUID | str) -> str:
    """Name the topic of a request."""
    return f"request:{pk}"
