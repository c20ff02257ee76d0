"""The people of the demo and what they may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenants.models import Cluster, User


@dataclass(frozen=True)
class Person:
    """A demo account: signed in with one click, never with a password."""

    username: str
    display_name: str
    what: str
    platform: tuple[str, ...] = ()
    tenants: tuple[tuple[str, str], ...] = ()


PEOPLE = (
    Person("alice", "Alice Ndiaye", "leads NLP", tenants=(("nlp", "lead"),)),
    Person("bob", "Bob Larsen", "trains models in NLP", tenants=(("nlp", "user"),)),
    Person("grace", "Grace Okafor", "leads CV", tenants=(("cv", "lead"),)),
    Person("frank", "Frank Weber", "looks after NLP's costs", tenants=(("nlp", "finance"),)),
    Person("carol", "Carol Mendes", "decides requests", platform=("approver",)),
    Person("dave", "Dave Kim", "runs the platform", platform=("admin",)),
    Person("erin", "Erin Walsh", "audits", platform=("auditor",)),
)


def first_request(*, author: User, cluster: Cluster) -> None:
    """Leave one open request, so that an approver finds something to decide."""
    from tenants.services import requests

    requests.submit_devices(
        actor=author, cluster=cluster, queue="cv-train", flavor="a100", nominal=12,
        reason="Two more annotators start on Monday; four GPUs more let both train at once.",
        key="demo-first-request",
    )  # fmt: skip
