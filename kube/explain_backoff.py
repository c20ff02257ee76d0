"""A workload that may not be looked at yet, whatever its message says."""

from __future__ import annotations

from typing import Final

from kube.explain_ended import EVICTED, evicted_reason
from kube.explain_facts import Facts
from kube.explain_routing import reopened
from kube.lenient import moment
from kube.reason_codes import reason
from kube.reasons import Explanation, Reason
from kube.workload_facts import Condition

#: Requeued is False for these too, and the message says more.
_SPEAKS: Final = frozenset({"Inadmissible", "Deactivated"})


def back_off_rule(facts: Facts) -> Explanation | None:
    """Say until when a workload is left alone, and after what."""
    requeued, at = facts.condition("Requeued"), facts.workload.requeue_at
    if requeued.false and requeued.reason.startswith(tuple(_SPEAKS)):
        return None
    if not requeued.false and not _ahead(facts, at):
        return None
    return facts.waiting(_reason(facts, requeued, at))


def _ahead(facts: Facts, at: str) -> bool:
    """Return whether a time is still to come; Kueue takes it away when it has passed."""
    when = moment(at)
    return bool(at) and (when is None or facts.now is None or when > facts.now)


def _reason(facts: Facts, requeued: Condition, at: str) -> Reason:
    evicted = facts.condition("Evicted")
    cause = requeued.reason if requeued.false else evicted.reason
    said = evicted if evicted.true else requeued
    code = EVICTED.get(cause, "preempted" if cause == "Preempted" else "back_off")
    params = dict(evicted_reason(facts, evicted).params) if evicted.true else {}
    params |= {"requeue_at": at, "count": str(facts.workload.requeue_count or "")}
    found = reason(
        code,
        params={key: value for key, value in params.items() if value},
        raw=said.message or requeued.message,
        since=requeued.since or said.since,
    )
    return reopened(facts, found)
