"""The rows behind the measurement: a cluster, tenants with a queue each, and signed-in people.

Prints one line of JSON: the keys of the sessions. Arguments: tenants, sessions.
"""

from __future__ import annotations

import json
import sys
from datetime import timedelta

PER_PERSON = 10  # sessions of one person, below the limit of streams


def main(tenants: int, sessions: int) -> None:
    import django

    django.setup()
    from django.utils import timezone

    from tenants.models import Cluster
    from tenants.services.catalog import commit_revision

    cluster = Cluster.objects.create(slug="lab", display_name="Lab")
    commit_revision(cluster=cluster, catalog=catalog(tenants), actor=None, summary="The bench")
    people = [person(number) for number in range(-(-sessions // PER_PERSON))]
    until = timezone.now() + timedelta(hours=12)
    keys = [session(people[number // PER_PERSON], until) for number in range(sessions)]
    sys.stdout.write(json.dumps(keys) + "\n")


def catalog(tenants: int):
    from kube.catalog import Catalog, CohortSpec, EntrySpec, FlavorSpec, QueueSpec, TenantSpec

    flavor = FlavorSpec(
        name="a100", capability="large", resource="nvidia.com/gpu", capacity=100_000,
        node_labels=(("example.com/model", "a100"),),
    )  # fmt: skip
    cohorts = tuple(CohortSpec(name=f"dept-{n}") for n in range(10))

    def tenant(n: int) -> TenantSpec:
        entries = (EntrySpec(namespace=f"team-{n}", name="main"),)
        queue = QueueSpec(name=f"queue-{n}", cohort=f"dept-{n % 10}", entries=entries)
        return TenantSpec(slug=f"team-{n}", display_name=f"Team {n}", queues=(queue,))

    every = tuple(tenant(n) for n in range(tenants))
    return Catalog(flavors=(flavor,), cohorts=cohorts, tenants=every)


def person(number: int):
    from tenants.models import PlatformRole, User

    # The hash of no password; sessions are made by hand.
    user = User.objects.create(username=f"person-{number}", password=f"!{number}")
    PlatformRole.objects.create(user=user, role="auditor")
    return user


def session(user, until) -> str:
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

    from tenants.sessions import SessionStore

    store = SessionStore()
    store[SESSION_KEY] = str(user.pk)
    store[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    store[HASH_SESSION_KEY] = user.get_session_auth_hash()
    store.set_expiry(until)
    store.create()
    return str(store.session_key)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
