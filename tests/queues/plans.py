"""Requests with ready plans, made by the real services but without a cluster."""

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connections

from kube.edits import Edit, proportional
from kube.render import render
from queues.models import Apply, Plan, PlanObject
from queues.services import plan as plans
from queues.services.leases import claim
from queues.services.plan_objects import Draft, Tried, wanted_objects
from tenants.models import Request
from tenants.services import requests
from tenants.services.catalog import head

_keys = itertools.count(1)


def key() -> str:
    return f"test-key-{next(_keys):06d}"


def asked(cast: Any, queue: str = "nlp-train", devices: int = 20, **limits: int) -> Request:
    """A lead of the queue's tenant asks for devices."""
    tenant, lead = (cast.nlp, cast.alice) if queue.startswith("nlp") else (cast.cv, cast.grace)
    edits = proportional(head(cast.cluster), queue, "a100", devices, **limits)
    return requests.submit(
        actor=lead, cluster=cast.cluster, tenant=tenant, kind=Request.Kind.QUOTA, edits=edits,
        reason="A bigger model", key=key(),
    )  # fmt: skip


def proposed(cast: Any, edits: Sequence[Edit]) -> Request:
    """The administrator proposes a change of the catalog."""
    return requests.submit(
        actor=cast.dave, cluster=cast.cluster, tenant=None, kind=Request.Kind.CATALOG,
        edits=edits, reason="Another catalog", key=key(),
    )  # fmt: skip


def planned(request: Request, **facts: Any) -> Plan:
    """Give a request the plan that a cluster which agrees would lead to."""
    plan = plans.request_plan(request=request)
    assert plan is not None
    plan = Plan.objects.select_related("cluster", "request").get(pk=plan.pk)
    lease = claim(plan, states=("waiting",), to="waiting")
    assert lease is not None
    proposal = plans.propose(plan.request)
    wanted = wanted_objects(proposal.before, proposal.after)
    before = {each.ref: each.body for each in render(proposal.before)}
    drafts = [
        _draft(each, wave, before.get(each.ref), facts)
        for wave, each in enumerate(wanted.objects, start=1)
    ]
    plans._keep(lease, proposal, drafts, {"reductions": [], "observed_at": None}, [])
    plan.refresh_from_db()
    return plan


def _draft(manifest: Any, wave: int, body: Any, facts: dict[str, Any]) -> Draft:
    draft = Draft(manifest, wave, tried=Tried.ACCEPTED)
    if body is not None:
        draft.operation = PlanObject.Operation.UPDATE
        draft.base_uid, draft.base_digest = f"uid-{manifest.name}", "0" * 64
    for name, value in facts.items():
        setattr(draft, name, value)
    return draft


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Run the calls in threads that all start at one moment; an exception is a result."""
    barrier = Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        try:
            barrier.wait(10)
            return call()
        except Exception as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def applies(request: Request) -> list[Apply]:
    return list(Apply.objects.filter(request=request))
