"""States of a request: the table that it moves along, and planning it again."""

from dataclasses import replace
from datetime import timedelta

import pytest

from kube.catalog import PrioritySpec
from kube.edits import PutFlavor, PutPriority
from portal.web.errors import Stale
from tenants.models import AuditEvent, Request
from tenants.models.states import move
from tenants.services import catalog, requests
from tests.tenants.asking import KEY, ask, problems_of, wish

# --- state machine --------------------------------------------------------------------------------------------

STATES = list(Request.State.values)


@pytest.mark.parametrize("source", STATES)
@pytest.mark.parametrize("to", STATES)
def test_moves_only_along_the_table(people, source, to):
    row = Request.objects.create(
        cluster=people.cluster, tenant=people.nlp, kind="quota", author=people.alice,
        reason="r", edits=[], key="key-of-alice", state=source,
    )  # fmt: skip

    if to in Request.TRANSITIONS.get(source, ()):
        assert move(row, to).state == to
        assert row.version == 2
    else:
        with pytest.raises(Stale):
            move(row, to)
        assert (row.state, row.version) == (source, 1)


def test_a_step_moves_the_time_that_lists_show(people):
    row, other = ask(people), Request.objects.create(
        cluster=people.cluster, author=people.alice, kind="catalog", reason="r", edits=[],
        key="key-of-another",
    )  # fmt: skip
    Request.objects.update(updated_at=other.created_at - timedelta(hours=1))

    move(row, "planned")

    assert row.updated_at > other.created_at
    assert Request.objects.order_by("-updated_at").first() == row


def test_table_names_only_states():
    assert set(Request.TRANSITIONS) <= set(STATES)
    assert set().union(*Request.TRANSITIONS.values()) <= set(STATES)
    ends = {"applied", "rejected", "withdrawn", "abandoned"}
    assert set(STATES) - Request.OPEN == ends


def test_flavor_request_has_its_own_target(people):
    flavor = replace(catalog.head(people.cluster).flavors[0], capacity=40)

    row = ask(people, people.dave, kind="catalog", tenant=None, edits=[PutFlavor(flavor=flavor)])

    assert row.targets == ["flavor:a100"]
    assert AuditEvent.objects.get(action="request.submit").scope == "platform"


# --- planning again, and what a model says by itself ------------------------------------------------------


@pytest.mark.parametrize(
    "state", ["planned", "refused", "stale", "partial", "conflict", "stuck", "unknown"]
)
def test_plans_again(people, woken, state):
    row = ask(people)
    Request.objects.filter(pk=row.pk).update(state=state)

    assert requests.plan_again(actor=people.alice, request=row).state == "submitted"
    assert row.open_targets.exists()
    assert len(woken) == 2


def test_does_not_plan_again_what_is_done(people):
    row = ask(people)
    Request.objects.filter(pk=row.pk).update(state="applied")

    with pytest.raises(Stale):
        requests.plan_again(actor=people.alice, request=row)


def test_whole_catalog_of_nonsense_is_invalid():
    with pytest.raises(requests.Invalid) as refused:
        requests.whole_catalog({"flavors": 3})

    assert problems_of(refused) == [("flavors", "GP-2104")]


def test_devices_of_an_unknown_flavor_are_invalid(people):
    with pytest.raises(requests.Invalid) as refused:
        requests.submit_devices(
            actor=people.alice, cluster=people.cluster, queue="nlp-train", flavor="h100",
            nominal=1, reason="r", key=KEY,
        )  # fmt: skip

    assert problems_of(refused) == [("flavor", "GP-2212")]


def test_model_refuses_an_unknown_kind(people):
    with pytest.raises(requests.Invalid) as refused:
        ask(people, people.dave, kind="wish", tenant=None, edits=wish(people))

    assert problems_of(refused)[0][0] == "kind"
    assert not Request.objects.exists()


def test_large_edits_are_in_the_trail_by_their_digest(people):
    base = catalog.head(people.cluster)
    many = [
        PutPriority(priority=PrioritySpec(name=f"p-{n}", value=n, contract="c" * 1000))
        for n in range(30)
    ]

    ask(people, people.dave, kind="catalog", tenant=None, edits=many)

    data = AuditEvent.objects.get(action="request.submit").data
    assert data["edits_size"] > 20_000
    assert len(data["edits_digest"]) == 64
    assert "edits" not in data
    assert catalog.head(people.cluster) == base
