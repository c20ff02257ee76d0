"""Why a workload is where it is: facts, no sentences. Pure.

``explain`` walks an ordered list of rules; the first that has an answer decides. The order is
the point: what a person switched off, a stopped queue or an eviction in progress explain a
workload better than its last message, which Kueue does not rewrite in those cases. Conditions
stay after their time; only their present status counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Unpack

from kube.explain_admitted import admitted_rule
from kube.explain_backoff import back_off_rule
from kube.explain_checks import checks_rule
from kube.explain_ended import deactivated_rule, deleted_rule, finished_rule, stopping_rule
from kube.explain_facts import Facts, Related
from kube.explain_order import message_rule, unseen_rule
from kube.explain_routing import entry_rule, queue_rule
from kube.lenient import Object
from kube.pod_facts import still_stopping
from kube.reasons import Change, Explanation, FreedBy, Reason, Stage, State
from kube.workload_facts import WorkloadFacts

__all__ = ["Change", "Explanation", "FreedBy", "Reason", "Related", "Stage", "State", "explain"]

Rule = Callable[[Facts], Explanation | None]

#: The order of judgement; the first rule that answers decides.
RULES: Final[tuple[Rule, ...]] = (
    finished_rule,
    deleted_rule,
    deactivated_rule,
    stopping_rule,
    admitted_rule,
    checks_rule,
    entry_rule,
    queue_rule,
    back_off_rule,
    message_rule,
)


def explain(workload: Object | WorkloadFacts, **related: Unpack[Related]) -> Explanation:
    """Say what a workload does and why.

    Everything besides the workload may be left out or ``None``: then it is not known, and the
    answer says less. No input makes this raise.
    """
    facts = Facts.gather(workload, related)
    found = _judged(facts)
    return found.adding(*_left_behind(facts, found))


def _judged(facts: Facts) -> Explanation:
    for rule in RULES:
        found = rule(facts)
        if found is not None:
            return found
    return unseen_rule(facts)


def _left_behind(facts: Facts, found: Explanation) -> tuple[Reason, ...]:
    """Say that old pods may still hold their devices after the quota was given back."""
    if facts.pods is None or found.state is not State.WAITING:
        return ()
    left = still_stopping(facts.pods)
    return (left,) if left else ()
