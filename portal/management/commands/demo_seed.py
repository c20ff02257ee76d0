"""Fills a demo: people, the cluster, and the catalog through the portal's own main job."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from portal.demo import cast
from queues.services import links
from queues.services.approve import approve
from tenants.models import Cluster, Membership, PlatformRole, Request, Tenant, User
from tenants.services import requests

CLUSTER = "demo"
PATIENCE = 120.0
EXAMPLE = settings.BASE_DIR / "kube" / "examples" / "two-teams.json"


class Command(BaseCommand):
    """Safe to run again: what is there stays as it is."""

    help = "Fill a demo. Refused outside demo mode."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the file with the cluster's address and the tokens of the two accounts."""
        parser.add_argument("access", type=Path, help="JSON: server, ca_pem, reader, applier")

    def handle(self, *args: Any, **options: Any) -> None:
        """Seed in the order in which each step needs the one before."""
        if not settings.DEMO:
            raise CommandError("this is not a demo")
        people = {person.username: make_person(person) for person in cast.PEOPLE}
        cluster = self.register(people["dave"], json.loads(options["access"].read_text()))
        if not cluster.revisions.exists():
            self.commit_catalog(cluster, author=people["dave"], approver=people["carol"])
        for person in cast.PEOPLE:
            join(people[person.username], person)
        if not Request.objects.filter(kind=Request.Kind.QUOTA).exists():
            cast.first_request(author=people["grace"], cluster=cluster)

    def say(self, text: str) -> None:
        """Tell how far it is."""
        self.stdout.write(text)
        self.stdout.flush()

    def register(self, admin: User, access: dict[str, str]) -> Cluster:
        """Register the cluster or give it the fresh address and tokens of this start."""
        cluster = links.register_cluster(
            actor=admin, slug=CLUSTER, display_name="Demo cluster", server=access["server"],
            ca_pem=access["ca_pem"], reader_token=access["reader"],
            applier_token=access["applier"],
        )  # fmt: skip
        self.say("checking the portal's rights in the cluster")
        wait(lambda: links.is_ready(cluster), "the preflight")
        if not cluster.writing:
            links.set_writing(actor=admin, cluster=cluster, on=True)
        return cluster

    def commit_catalog(self, cluster: Cluster, *, author: User, approver: User) -> None:
        """Take the catalog two-teams through request, plan, approval and apply."""
        catalog = json.loads(EXAMPLE.read_text())
        self.say(f"{author} proposes the catalog two-teams")
        request = requests.submit(
            actor=author, cluster=cluster, tenant=None, kind=Request.Kind.CATALOG,
            edits=requests.whole_catalog(catalog), reason="The first catalog of this cluster.",
            key="demo-catalog",
        )  # fmt: skip
        plan = wait(lambda: request.plans.filter(state="ready").first(), "the plan", request)
        self.say(f"{approver} approves plan {plan.digest[:12]}")
        approve(actor=approver, plan=plan, digest=plan.digest)
        wait(lambda: applied(request), "the apply", request)
        self.say("the catalog is in the cluster")


def applied(request: Request) -> bool:
    """Return whether the request's change is in the cluster."""
    request.refresh_from_db()
    return request.state == Request.State.APPLIED


def wait(what: Callable[[], Any], name: str, request: Request | None = None) -> Any:
    """Return what ``what`` gives once it is true; give up with the request's own words."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = what()
        if found:
            return found
        if request is not None:
            request.refresh_from_db()
            if request.state in (Request.State.REFUSED, Request.State.STUCK):
                raise CommandError(f"{name}: {request.state} {json.dumps(request.problems)}")
        time.sleep(0.2)
    sys.stderr.flush()
    raise CommandError(f"{name} did not come within {PATIENCE:.0f} s; see the worker's log")


def make_person(person: cast.Person) -> User:
    """Create an account that nobody can sign in to with a password."""
    user, made = User.objects.get_or_create(
        username=person.username, defaults={"display_name": person.display_name}
    )
    if made:
        user.set_unusable_password()
        user.save(update_fields=["password"])
        for role in person.platform:
            PlatformRole.objects.create(user=user, role=role)
    return user


def join(user: User, person: cast.Person) -> None:
    """Give a person their roles in tenants, once the catalog has brought the tenants."""
    for slug, role in person.tenants:
        tenant = Tenant.objects.get(slug=slug)
        Membership.objects.get_or_create(user=user, tenant=tenant, role=role)
