"""A workload that has its quota and waits for admission checks."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from kube import check_texts
from kube.explain_facts import Facts
from kube.lenient import text
from kube.reason_codes import reason
from kube.reasons import Explanation, Reason
from kube.workload_facts import Check, read_conditions

#: From the gravest to the mildest.
_GRAVITY: Final = ("Rejected", "Retry", "Pending", "")
_CODES: Final = {"Rejected": "check_rejected", "Retry": "check_retry"}
_OWN: Final = "Reset to Pending"


def checks_rule(facts: Facts) -> Explanation | None:
    """Look at the checks of a workload that is not admitted; all that are open are listed."""
    if not facts.workload.reserved:
        return None
    reserved, admitted = facts.condition("QuotaReserved"), facts.condition("Admitted")
    found = [each._replace(since=reserved.since) for each in open_checks(facts)]
    late = admitted.reason == "PendingDelayedTopologyRequests" or facts.workload.delayed_topology
    if late:
        found.append(reason("topology_delayed", raw=admitted.message, since=admitted.since))
    return facts.waiting(*(found or [reason("admission_pending", since=reserved.since)]))


def open_checks(facts: Facts) -> list[Reason]:
    """Return one reason for each check that is not ready, the gravest first."""
    checks = facts.workload.checks
    waiting = [check for check in checks if check.state != "Ready"]
    return [
        _reason(facts, check, len(waiting))
        for state in (*_GRAVITY, None)
        for check in waiting
        if check.state == state or (state is None and check.state not in _GRAVITY)
    ]


def _reason(facts: Facts, check: Check, waiting: int) -> Reason:
    message = words_of(facts, check)
    code, named = check_texts.read(message)
    if check.state in _CODES and (check.state == "Rejected" or code != "provisioning_failed"):
        code = _CODES[check.state]
    controller = text(facts.checks.get(check.name), "spec", "controllerName")
    params = {
        "check": check.name, "message": message, "controller": controller, "open": str(waiting),
        "requeue_at": _again_at(facts, check), "retries": str(check.retries or ""),
    } | named  # fmt: skip
    if not code:
        code = "check_not_active" if _inactive(facts, check) else "check_pending"
    params = {key: value for key, value in params.items() if value}
    return reason(code, params=params, raw=message)


def words_of(facts: Facts, check: Check) -> str:
    """Return a check's own words; Kueue puts its own text over them at once."""
    kept = facts.kept.get(check.name, "")
    return kept if kept and (not check.message or check.message.startswith(_OWN)) else check.message


def _inactive(facts: Facts, check: Check) -> bool:
    found = facts.checks.get(check.name)
    active = read_conditions(found).get("Active") if found else None
    return active is not None and active.false


def _again_at(facts: Facts, check: Check) -> str:
    """Return when a check is tried again; until then the workload keeps its quota."""
    if check.state != "Retry":
        return ""
    if facts.workload.requeue_at or not (check.since and check.again_after):
        return facts.workload.requeue_at
    try:
        at: datetime = check.since + timedelta(seconds=check.again_after)
    except OverflowError:
        return ""
    return at.isoformat()


def check_params(facts: Facts, states: tuple[str, ...]) -> dict[str, str]:
    """Return the facts about the first check in one of these states, nothing if there is none."""
    checks = facts.workload.checks
    found = [check for check in checks if check.state in states]
    if not found:
        return {}
    waiting = sum(check.state != "Ready" for check in checks)
    return dict(_reason(facts, found[0], waiting).params)
