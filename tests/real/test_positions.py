"""Positions equal Kueue's own for 500 pending workloads, and no namespace sees another's names."""

import itertools
import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from django.test import Client

from kube import errors
from kube.kinds import WORKLOAD, path_of
from kube.manifest import Ref
from kube.queue_order import Strategy
from kube.transport import Request
from kube.visibility import pending
from queues.models import QueueOrder, Workload
from queues.services.looked import look
from queues.services.placing import own_order, read
from queues.services.positions import settings_of
from tenants.models import Entry, Membership, Queue, Tenant
from tests.real import objects, registered
from tests.stack import wait_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.real]

QUEUES, PRIORITIES = 12, (-10, 0, 100, 1000, 5000, 100_000)
PENDING, CHANGES = 500, 100
MARK = "secret-7f3a"
MANAGER = "test-positions"


class Field:
    """Twelve small queues, each with an entry of the same name in two namespaces."""

    def __init__(self, admin, name):
        self.admin, self.name = admin, name
        self.chance = random.Random(20)  # noqa: S311 - the same workloads in every run
        self.spaces = (f"{name}-a", f"{name}-b")
        self.queues = [f"{name}-{number:02}" for number in range(QUEUES)]
        self.made = {queue: [] for queue in self.queues}
        self.numbers = itertools.count()
        self.threads = ThreadPoolExecutor(6)

    def build(self):
        self.apply(objects.flavor(self.name))
        for space in self.spaces:
            self.apply(objects.namespace(space))
        for number, queue in enumerate(self.queues):
            spec = {
                "queueingStrategy": Strategy.STRICT if number % 3 == 0 else Strategy.BEST_EFFORT
            }
            if number % 4 == 1:
                # Nothing ends a victim here, so the one that makes room stays in front.
                spec["preemption"] = {"withinClusterQueue": "LowerPriority"}
            self.apply(objects.cluster_queue(queue, "3", flavor=self.name, **spec))
            for space in self.spaces:
                self.apply(objects.local_queue(f"entry-{number}", space, queue))

    def apply(self, body):
        return self.admin.apply(body, manager=MANAGER).object

    def arrive(self, queue):
        """Think of a workload; return what creates it."""
        number, space = next(self.numbers), self.chance.choice(self.spaces)
        secret = f"{MARK}-" if space == self.spaces[1] else ""
        body = workload(
            f"{secret}{queue}-{number}", space, f"entry-{self.queues.index(queue)}",
            self.chance.choice(PRIORITIES), cpu=self.chance.randint(1, 3),
        )  # fmt: skip
        self.made[queue].append(body)
        path = WORKLOAD.path(namespace=space)
        request = Request("POST", path, (("fieldManager", MANAGER),), body, writes=True)
        return lambda: self.admin.transport.send(request)

    def fill(self):
        asked = [self.arrive(self.queues[number % QUEUES]) for number in range(PENDING + 60)]
        for done in [self.threads.submit(each) for each in asked]:
            done.result()

    def change(self):
        """Let one workload come, finish, leave, or get another priority."""
        queue = self.chance.choice(self.queues)
        body = self.chance.choice(self.made[queue])
        what = self.chance.choice(("arrive", "arrive", "priority", "priority", "finish", "leave"))
        if what == "arrive":
            self.arrive(queue)()
        elif what == "priority":
            self.patch(ref(body), {"spec": {"priority": self.chance.choice(PRIORITIES)}})
        else:
            self.finish(queue) if what == "finish" else self.leave(queue, body)

    def finish(self, queue):
        """Finish one that holds quota, so that Kueue takes the next."""
        rows = Workload.objects.filter(queue=queue, state__in=("running", "starting"))
        live = (self.admin.get(Ref("Workload", row.namespace, row.name)) for row in rows)
        found = next((each for each in live if each and not finished(each)), None)
        if found is None:
            return
        done = {
            "type": "Finished", "status": "True", "reason": "Succeeded", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }  # fmt: skip
        conditions = [*found["status"]["conditions"], done]
        self.patch(ref(found), {"status": {"conditions": conditions}}, "/status")

    def patch(self, which, body, part=""):
        kind = "application/merge-patch+json"
        path = f"{path_of(which)}{part}"
        self.admin.transport.send(Request("PATCH", path, (), body, kind, writes=True))

    def leave(self, queue, body):
        self.made[queue].remove(body)
        found = self.admin.get(ref(body))
        self.admin.delete(ref(body), uid=found["metadata"]["uid"])

    def clear(self):
        self.threads.shutdown()
        for space in self.spaces:
            with suppress(errors.ClusterError):
                path = WORKLOAD.path(namespace=space)
                self.admin.transport.send(Request("DELETE", path, writes=True))


def ref(body):
    return Ref("Workload", body["metadata"]["namespace"], body["metadata"]["name"])


def finished(found):
    return any(each["type"] == "Finished" for each in found["status"]["conditions"])


def workload(name, namespace, entry, priority, *, cpu):
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": str(cpu)}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": objects.KUEUE,
        "kind": WORKLOAD.name,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "queueName": entry,
            "priority": priority,
            "podSets": [{"name": "main", "count": 1, "template": template}],
        },
    }


@pytest.fixture
def field(admin, name):
    made = Field(admin, name)
    yield made
    made.clear()


@pytest.fixture
def cluster(admin, place, settings):
    registered.seal_with_fresh_keys(settings)
    return registered.register(admin, place, registered.person("dave", "admin"))


@pytest.fixture
def alice(cluster, field):
    """A lead whose tenant has the first namespace of every queue, and no other."""
    tenant = Tenant.objects.create(slug="alpha", display_name="Alpha")
    for number, queue in enumerate(field.queues):
        row = Queue.objects.create(
            cluster=cluster, tenant=tenant, name=queue, purpose="training",
            strategy="BestEffortFIFO", stop_policy="None", spec={},
        )  # fmt: skip
        Entry.objects.create(
            queue=row, cluster=cluster, namespace=field.spaces[0], name=f"entry-{number}"
        )
    user = registered.person("alice")
    Membership.objects.create(user=user, tenant=tenant, role="lead")
    browser = Client()
    browser.force_login(user)
    return browser


def kueues(reader, queue):
    """Kueue's own list: (namespace, name), position and position in the entry, from 1."""
    found = pending(reader, queue).items
    return [
        (each.namespace, each.name, each.position + 1, each.entry_position + 1) for each in found
    ]


def stored(cluster, queue):
    rows = Workload.objects.filter(cluster=cluster, queue=queue).exclude(position=None)
    return list(
        rows.order_by("position").values_list("namespace", "name", "position", "entry_position")
    )


def agreed(cluster, queues):
    rows = QueueOrder.objects.filter(cluster=cluster, queue__in=queues)
    return all(row.agreed and row.source == "own" for row in rows) and len(rows) == len(queues)


def same(cluster, reader, field):
    return all(stored(cluster, queue) == kueues(reader, queue) for queue in field.queues)


def test_positions_are_kueues_and_names_stay_in_their_namespace(
    admin, cluster, reader, field, alice
):
    field.build()
    with registered.observing(cluster):
        look((cluster.pk, queue) for queue in field.queues)
        field.fill()
        for _ in range(CHANGES):
            field.change()
        wait_for(lambda: same(cluster, reader, field), seconds=120)
        wait_for(lambda: agreed(cluster, field.queues), seconds=60)

        for queue in field.queues:
            (line,) = read(cluster, [queue], settings_of(cluster)).values()
            expected = [each[:2] for each in kueues(reader, queue)]
            assert list(own_order(line, 10_000)) == expected
        orders = QueueOrder.objects.filter(cluster=cluster)
        assert sum(row.pending for row in orders) >= PENDING
        assert any(row.front for row in orders), (
            "no queue has one in front: the test lost its point"
        )
        both = Workload.objects.filter(cluster=cluster, position__gt=0)
        assert {row.namespace for row in both} >= set(field.spaces)  # others test here as well
        nothing_of_the_other(alice, cluster, field)


def nothing_of_the_other(browser, cluster, field):
    mine = Workload.objects.filter(namespace=field.spaces[0], position__gt=1).first()
    queues = field.queues[::3]
    urls = [f"/c/{cluster.slug}/queues/{queue}/" for queue in queues]
    urls += [f"/api/v1/queues/{cluster.slug}/{queue}/positions/" for queue in queues]
    urls += ["/jobs/", "/api/v1/jobs/", "/", "/t/alpha/"]
    urls.append(f"/c/{cluster.slug}/jobs/{mine.namespace}/{mine.job_name}/")
    urls.append(f"/api/v1/jobs/{cluster.slug}/{mine.namespace}/{mine.job_name}/why/")
    for url in urls:
        answer = browser.get(url, follow=True)
        assert answer.status_code == 200, url
        said = answer.content.decode() + str(dict(answer.items()))
        assert MARK not in said, url
        assert field.spaces[1] not in said, url
