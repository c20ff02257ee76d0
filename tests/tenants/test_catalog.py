"""Revisions: numbered, never changed, spread over the rows in few statements."""

import threading
from dataclasses import replace

import pytest
from django.db import connection

from kube import catalog_json
from kube.catalog import Catalog, CohortSpec, TenantSpec
from tenants import audit
from tenants.models import (
    AuditEvent,
    Cluster,
    Department,
    Entry,
    Pool,
    Priority,
    Queue,
    QuotaLine,
    Revision,
    Tenant,
)
from tenants.services import catalog
from tests import cast


def commit(people, state, summary="A change"):
    return catalog.commit_revision(
        cluster=people.cluster, catalog=state, actor=people.dave, summary=summary
    )


def test_head_is_the_newest(people):
    assert catalog.head(people.cluster) == cast.catalog()
    assert catalog.head(Cluster.objects.create(slug="new", display_name="New")) == Catalog()


def test_numbers_revisions_per_cluster(people):
    other = Cluster.objects.create(slug="other", display_name="Other")
    state = catalog.head(people.cluster)

    assert commit(people, state).number == 2
    assert catalog.commit_revision(
        cluster=other, catalog=Catalog(), actor=None, summary="First"
    ).number == 1  # fmt: skip
    assert [head.number for head in catalog.heads(Cluster.objects.order_by("slug"))] == [2, 1]


def test_records_the_commit(people):
    revision = commit(people, catalog.head(people.cluster))

    event = AuditEvent.objects.filter(action="revision.commit").latest("seq")
    assert event.data["digest"] == revision.digest
    assert event.actor == people.dave
    assert audit.verify("platform").intact


def test_spreads_the_catalog_over_the_rows(people):
    pool = Pool.objects.get()
    queue = Queue.objects.get(name="nlp-train")

    assert (pool.flavor, pool.resource, pool.capacity) == ("a100", "nvidia.com/gpu", 32)
    assert (queue.tenant, queue.department.name) == (people.nlp, "research")
    assert [line.nominal for line in queue.lines.all()] == [16 * 8000, 16 * 64 * cast.GIB, 16]
    assert str(Entry.objects.get(queue=queue)) == "nlp/main"
    assert list(Priority.objects.values_list("name", flat=True)) == ["boss-urgent", "normal-batch"]


def test_updates_rows_in_place(people):
    before = {model: set(model.objects.values_list("pk", flat=True))
              for model in (Pool, Department, Tenant, Queue, QuotaLine, Entry, Priority)}  # fmt: skip
    state = catalog.head(people.cluster)
    renamed = replace(state.tenants[0], display_name="Words")

    commit(people, replace(state, tenants=(renamed, *state.tenants[1:])))

    assert Tenant.objects.get(slug="nlp").display_name == "Words"
    assert before == {model: set(model.objects.values_list("pk", flat=True)) for model in before}


def test_takes_lines_away(people):
    state = catalog.head(people.cluster)
    nlp = state.tenants[0]
    bare = replace(nlp, queues=(replace(nlp.queues[0], quotas=nlp.queues[0].quotas[:1]),))

    commit(people, replace(state, tenants=(bare, *state.tenants[1:])))

    assert [line.resource for line in Queue.objects.get(name="nlp-train").lines.all()] == ["cpu"]


def test_moves_departments_in_the_tree(people):
    state = catalog.head(people.cluster)
    tree = (
        replace(state.cohorts[0], parent="company"),
        CohortSpec(name="company"),
        CohortSpec(name="basic", parent="research"),
    )

    commit(people, replace(state, cohorts=tree))

    assert Department.objects.get(name="basic").parent.parent.name == "company"


@pytest.mark.parametrize(
    ("part", "lost"),
    [
        ("flavors", "flavor a100"),
        ("topologies", "topology racks"),
        ("cohorts", "department research"),
        ("tenants", "entry cv/main"),
        ("priorities", "priority boss-urgent"),
    ],
)
def test_refuses_to_lose_something(people, part, lost):
    state = replace(catalog.head(people.cluster), **{part: ()})

    with pytest.raises(catalog.Removal, match="GP-1201") as refused:
        commit(people, state)

    assert lost in refused.value.details["lost"]
    assert Revision.objects.count() == 1


def big(count):
    tenants = tuple(
        TenantSpec(
            slug=f"team-{n}", display_name=f"Team {n}", queues=(cast.queue(f"q-{n}", f"ns-{n}", 1),)
        )
        for n in range(count)
    )
    base = cast.catalog()
    return replace(base, tenants=(*base.tenants, *tenants))


def queries_for(people, count):
    with CaptureQueries() as seen:
        commit(people, big(count))
    return len(seen)


class CaptureQueries:
    def __enter__(self):
        from django.test.utils import CaptureQueriesContext

        self.context = CaptureQueriesContext(connection)
        self.context.__enter__()
        return self.context

    def __exit__(self, *args):
        self.context.__exit__(*args)


def test_number_of_statements_does_not_grow(people):
    assert queries_for(people, 5) == queries_for(people, 60)
    assert Queue.objects.count() == 62


@pytest.mark.django_db
def test_longest_names_fit_into_the_rows():
    cluster = Cluster.objects.create(slug="lab", display_name="Lab")
    base, long = cast.catalog(), ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])
    flavor = replace(base.flavors[0], name=long)
    lines = tuple(replace(line, flavor=long) for line in cast.lines(4))
    tenants = (
        TenantSpec(
            slug="t" * 40,
            display_name="D" * 200,
            cost_centre="C" * 200,
            queues=(replace(cast.queue("q" * 63, "n" * 63, 4), cohort=long, quotas=lines),),
        ),
    )
    state = replace(
        base, flavors=(flavor,), tenants=tenants, cohorts=(CohortSpec(name=long, display_name="d" * 200),)
    )  # fmt: skip

    catalog.commit_revision(cluster=cluster, catalog=state, actor=None, summary="s" * 500)

    assert catalog.head(cluster) == state
    assert len(Revision.objects.get().summary) == 200


def test_stored_form_is_the_catalog(people):
    revision = catalog.newest(people.cluster)

    assert catalog_json.load(revision.catalog) == cast.catalog()


def test_two_commits_at_once_are_two_numbers(people_for_threads):
    people, start = people_for_threads, threading.Barrier(4)

    def run():
        start.wait()
        commit(people, cast.catalog())
        connection.close()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(Revision.objects.values_list("number", flat=True)) == [1, 2, 3, 4, 5]
    assert audit.verify("platform").intact_to == 5
