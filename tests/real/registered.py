"""The portal's database and services against the control plane of the run."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import connection

from kube import rbac
from queues import sealing
from queues.services import apply as apply_service
from queues.services import links, preflight, reconcile
from queues.services import plan as plan_service
from queues.services.approve import approve
from queues.services.observer import Observer
from tenants.models import Cluster, PlatformRole, Request, User
from tenants.services import requests

EXAMPLES = Path(__file__).resolve().parents[2] / "kube" / "examples"


def seal_with_fresh_keys(settings: Any) -> tuple[str, str]:
    """Give this process both sealing keys; return (public, private)."""
    public, private = sealing.new_key_pair()
    settings.SEALING_PUBLIC_KEY = public
    settings.SEALING_PRIVATE_KEY = private
    return public, private


def person(name: str, *roles: str) -> User:
    user = User.objects.create_user(name)
    for role in roles:
        PlatformRole.objects.create(user=user, role=role)
    return user


def register(admin: Any, place: Any, actor: User, slug: str = "real") -> Cluster:
    """Register the control plane with exactly the identities of deploy/rbac, and allow writing."""
    tokens = {who: rbac.issue_token(admin, who, 3600).value for who in rbac.Identity}
    cluster = links.register_cluster(
        actor=actor, slug=slug, display_name="Control plane", server=place.server,
        ca_pem=place.ca_pem, reader_token=tokens[rbac.Identity.READER],
        applier_token=tokens[rbac.Identity.APPLIER],
    )  # fmt: skip
    preflight.run(cluster.pk)
    return links.set_writing(actor=actor, cluster=cluster, on=True)


def example(name: str, renames: dict[str, str]) -> Any:
    """Return an example catalog with names of this test's own."""
    text = (EXAMPLES / f"{name}.json").read_text()
    for old, new in renames.items():
        text = text.replace(f'"{old}"', f'"{new}"')
    return json.loads(text)


def work(cluster: Cluster) -> None:
    """Do what a worker would do now: everything that is due."""
    steps: dict[str, Callable[[Any], Any]] = {
        "plan": plan_service.make_plan,
        "apply": apply_service.run,
        "preflight": preflight.run,
    }
    for step in reconcile.next_steps(cluster.pk):
        steps[step.what](_key(step.key))


def _key(key: str | int) -> Any:
    from uuid import UUID

    return UUID(key) if isinstance(key, str) else key


def commit(cluster: Cluster, catalog: Any, *, author: User, approver: User) -> Request:
    """Take a whole catalog through request, plan, approval and apply."""
    request = requests.submit(
        actor=author, cluster=cluster, tenant=None, kind=Request.Kind.CATALOG,
        edits=requests.whole_catalog(catalog), reason="The catalog of this test.",
        key="test-catalog-0001",
    )  # fmt: skip
    work(cluster)
    plan = request.plans.get(state="ready")
    approve(actor=approver, plan=plan, digest=plan.digest)
    work(cluster)
    request.refresh_from_db()
    return request


@contextmanager
def observing(cluster: Cluster) -> Iterator[Observer]:
    """Run the observer in a thread with a database connection of its own."""
    with links.client(cluster=cluster, purpose="reader") as client:
        observer = Observer(cluster, client, lease=lambda: True)
        failures: list[BaseException] = []

        def run() -> None:
            try:
                observer.run()
            except BaseException as error:
                failures.append(error)
            finally:
                connection.close()

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield observer
        finally:
            observer.stop.set()
            thread.join(30)
        assert not failures
