"""Which of several reasons decides, and what is told of a job that nobody has looked at."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Final

from kube import pending_texts
from kube.explain_facts import Facts
from kube.explain_quota import TOO_LARGE, fits_now, too_large, with_numbers
from kube.explain_routing import reopened
from kube.pending_texts import PendingText
from kube.reason_codes import reason
from kube.reasons import Explanation, Reason, Stage
from kube.workload_facts import Condition

#: From mild to grave. What is not here no waiting ends, or it stands alone.
_MILD: Final = ("topology_too_small", "topology_partly", "topology_not_cached", "node_not_replaced")
_MIDDLE: Final = (
    "quota_short", "lost_the_race", "overlapping_preemption", "elastic_flavor",
    "flavor_not_chosen",
)  # fmt: skip
#: Answers that are kept for jobs to come; those of one queue come together.
SHARED: Final = 1024


def gravity(each: Reason) -> int:
    """Return how grave a reason is: topology, quota in use, too large, fits no flavor."""
    if each.stale:
        return 0
    if each.code in _MILD:
        return 0
    if each.code in _MIDDLE:
        return 1
    return 2 if each.code in TOO_LARGE else 3


def in_order(facts: Facts, reasons: tuple[Reason, ...]) -> tuple[Reason, ...]:
    """Put the deciding reason first, the others behind, whatever order they came in.

    All resources of a flavor are needed, so its gravest reason counts. Flavors of one group are
    alternatives, so the mildest flavor counts. Pod sets and groups are all needed, so the
    gravest of those decides.
    """
    if len(reasons) < 2:
        return reasons
    groups = facts.queue.group_of if facts.queue else {}
    held: dict[tuple[str, str], dict[str, list[Reason]]] = {}
    for each in reasons:
        group = groups.get(each.flavor, "") if each.flavor else _group(each, reasons, groups)
        held.setdefault((each.pod_set, group), {}).setdefault(each.flavor, []).append(each)
    parts = [sorted((_flavor(own) for own in flavors.values()), key=_mildest)
             for flavors in held.values()]  # fmt: skip
    parts.sort(key=_gravest)
    return tuple(each for flavors in parts for own in flavors for each in own)


def _group(each: Reason, reasons: tuple[Reason, ...], groups: Mapping[str, str]) -> str:
    """A topology names no flavor: it is tried where the quota of one of the flavors suffices."""
    beside = {
        groups.get(other.flavor, "")
        for other in reasons
        if other.flavor and other.pod_set == each.pod_set
    }
    if each.stage is Stage.TOPOLOGY and len(beside) == 1:
        return beside.pop()
    return f"{each.code} {each.resource}"


def _flavor(reasons: list[Reason]) -> list[Reason]:
    """Sort the reasons of one flavor: the gravest first, of equal ones devices before the rest."""
    return sorted(reasons, key=lambda each: (-gravity(each), *_name(each)))


def _name(each: Reason) -> tuple[bool, str, str, str, str]:
    return "/" not in each.resource, each.resource, each.code, each.flavor, each.pod_set


def _mildest(own: list[Reason]) -> tuple[object, ...]:
    return gravity(own[0]), own[0].missing or 0, own[0].code, own[0].flavor


def _gravest(flavors: list[list[Reason]]) -> tuple[object, ...]:
    first = flavors[0][0]
    return -gravity(first), not first.never, *_name(first)


# --- the scheduler's own words ----------------------------------------------------------------------


def message_rule(facts: Facts) -> Explanation | None:
    """Read the scheduler's text, and correct it where the objects around say otherwise."""
    said = facts.condition("QuotaReserved")
    if not said.false:
        return None
    read = pending_texts.read(said.message)
    since = said.since or facts.workload.created
    first = read.reasons[0]
    if first.code in _UNSEEN and not read.preempting:
        return None if first.code == "not_looked_at" else _like_another(facts, said)
    # A text of 0.20 about room that is being made names no number: its short reason tells.
    makes_room = bool(read.preempting) or said.reason == _MAKES_ROOM
    told = (each._replace(since=since) for each in _told(facts, said, read, makes_room))
    return facts.waiting(*told, *_growth(facts), preempting=makes_room)


def _told(facts: Facts, said: Condition, read: PendingText, makes_room: bool) -> tuple[Reason, ...]:
    """Return what a text tells, without its time.

    Equal jobs of one queue with the same text are told the same as long as no queue changes, and
    at a start there are tens of thousands of them.
    """
    key = _shared(facts, said, read)
    if key is None or facts.tree is None:
        return _work_out(facts, said, read, makes_room)
    shared = facts.tree.told
    found: tuple[Reason, ...] | None = shared.get(key)
    if found is None:
        if len(shared) >= SHARED:
            shared.clear()
        found = shared[key] = _work_out(facts, said, read, makes_room)
    return found


def _shared(facts: Facts, said: Condition, read: PendingText) -> Hashable:
    """Return what two jobs must share to be told the same, ``None`` where more than that counts."""
    queue, tree, asked = facts.queue, facts.tree, facts.workload.as_written
    if queue is None or tree is None or asked is None or tree.queues.get(queue.name) is not queue:
        return None
    if any(
        each.stage in (None, Stage.ROUTING) or each.code == "limit_range" for each in read.reasons
    ):
        return None
    return queue.name, said.message, said.reason, asked.least, asked.shape


def _work_out(
    facts: Facts, said: Condition, read: PendingText, makes_room: bool
) -> tuple[Reason, ...]:
    found = tuple(with_numbers(facts, _corrected(facts, said, each), None) for each in read.reasons)
    if not makes_room:
        found = _with_too_large(facts, found)
    ordered = in_order(facts, found)
    if makes_room:
        ordered = tuple(_while_making_room(each, read.preempting) for each in ordered)
    return ordered


_MAKES_ROOM: Final = "WaitingForPreemptedWorkloads"
_UNSEEN: Final = frozenset({"not_looked_at", "same_as_another"})
_NEVER: Final = frozenset({"ExceedsMaxQuota", "NoMatchingFlavor"})
_STAGES: Final = {
    "Misconfigured": Stage.ROUTING,
    "Suspended": Stage.ROUTING,
    "NoMatchingFlavor": Stage.REQUEST,
    "ExceedsMaxQuota": Stage.QUOTA,
    "WaitingForQuota": Stage.QUOTA,
    _MAKES_ROOM: Stage.QUOTA,
    "TopologyPlacementFailed": Stage.TOPOLOGY,
    "AdmissionGated": Stage.CHECK,
    "WaitingForPodsReady": Stage.PODS,
}


def _corrected(facts: Facts, said: Condition, each: Reason) -> Reason:
    """Doubt a text about a shut queue, a switched-off job or a LimitRange that is gone."""
    if each.code == "unknown":
        # The token is all that is understood of a text of a later release.
        stage, never = _STAGES.get(said.reason, Stage.ORDER), said.reason in _NEVER
        return each._replace(stage=stage, never=never, params={"token": said.reason})
    if each.code in ("deactivated", "check_rejected", "too_many_retries", "time_limit"):
        # It was switched on again: the text of the time before still stands there.
        return reason("not_looked_at", stale=True, raw=each.raw)
    if each.code == "limit_range" and facts.limit_ranges == 0:
        return each._replace(stale=True, never=False)
    if each.code == "flavor_missing" and each.flavor in (facts.flavors or ()):
        return each._replace(stale=True, never=False)
    return reopened(facts, each)


def _while_making_room(each: Reason, count: int) -> Reason:
    params = dict(each.params) | ({"preempting": str(count)} if count else {})
    return each._replace(never=False, params=params)


def _with_too_large(facts: Facts, found: tuple[Reason, ...]) -> tuple[Reason, ...]:
    """Add where the job is too large for its queue, unless the text says so already."""
    if any(each.stale or each.stage not in (Stage.QUOTA, Stage.TOPOLOGY) for each in found):
        return found
    named = {(each.flavor, each.resource) for each in found if each.code in TOO_LARGE}
    raw, since = found[0].raw, found[0].since
    more = [each._replace(raw=raw, since=since) for each in too_large(facts, named)]
    return (*found, *_first_of_each(more))


def _first_of_each(reasons: list[Reason]) -> list[Reason]:
    """Of several pod sets that are too large for one line, the first in their order is told."""
    return list({(each.flavor, each.resource): each for each in reversed(reasons)}.values())


def _growth(facts: Facts) -> tuple[Reason, ...]:
    """Say that the job runs at its old size while this workload waits for the new one."""
    return (reason("growth_waits"),) if facts.workload.grows_from else ()


# --- nobody has looked at it ------------------------------------------------------------------------


_TOKENS: Final = {
    "ExceedsMaxQuota": "max_capacity",
    "NoMatchingFlavor": "no_matching_flavor",
    "TopologyPlacementFailed": "topology_too_small",
}


def _like_another(facts: Facts, said: Condition) -> Explanation:
    """A job that was passed over because an equal one was refused: the token is all it says."""
    here = reason("same_as_another", raw=said.message, since=said.since)
    found = _of_equal(facts) or tuple(_too_large_alone(facts))
    if not found and said.reason in _TOKENS:
        found = (reason(_TOKENS[said.reason], raw=said.message, since=said.since),)
    return facts.waiting(*found, here, *_growth(facts))


def unseen_rule(facts: Facts) -> Explanation:
    """A job without a word of the scheduler: what is known of its queue has to do."""
    said = facts.condition("QuotaReserved")
    since = said.since or facts.workload.created
    equal = _of_equal(facts)
    if equal:
        here = reason("same_as_another", raw=said.message, since=since)
        return facts.waiting(*equal, here, *_growth(facts))
    code = _unseen(facts)
    here = reason(code, raw=said.message, since=since, params=_ahead(facts))
    return facts.waiting(*_too_large_alone(facts), here, *_growth(facts))


def _of_equal(facts: Facts) -> tuple[Reason, ...]:
    """Return what the scheduler said of an equal job that waits in the same queue."""
    said = facts.line.said_of_equal(facts.workload) if facts.line else None
    if said is None:
        return ()
    read = pending_texts.read(said.message)
    if read.preempting or read.reasons[0].code in _UNSEEN | {"unknown"}:
        return ()
    found = tuple(
        with_numbers(facts, _corrected(facts, said, each), said.since) for each in read.reasons
    )
    return in_order(facts, _with_too_large(facts, found))


def _too_large_alone(facts: Facts) -> tuple[Reason, ...]:
    return in_order(facts, tuple(_first_of_each(too_large(facts))))


def _unseen(facts: Facts) -> str:
    line, queue = facts.line, facts.queue
    if line is not None and line.preemptor_ahead(facts.workload):
        return "behind_preemptor"
    if line is not None:
        if line.strict and line.count_ahead(facts.workload):
            return "behind_head"
    elif queue is not None and queue.strict and (queue.pending or 0) > 1:
        # The head of a queue is looked at in no time, so this is not the head.
        return "behind_head"
    return "other_pods_not_ready" if _held_by_others(facts) else "not_looked_at"


def _held_by_others(facts: Facts) -> bool:
    """A job alone in its queue that would fit, and is not taken: pods elsewhere hold it up.

    With ``blockAdmission`` Kueue writes so at one waiting job only. The queue's own count of
    waiting jobs lags a second behind, so a job that is counted is not a new one.
    """
    queue, blocks = facts.queue, facts.manager.block_admission if facts.manager else None
    if queue is None or blocks is False or not facts.condition("PodsReady").status:
        return False
    return queue.pending == 1 and queue.open and fits_now(facts)


def _ahead(facts: Facts) -> dict[str, str]:
    if facts.line is None:
        return {}
    count = facts.line.count_ahead(facts.workload)
    return {"ahead": str(count)} if count else {}
