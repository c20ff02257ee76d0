"""The numbers behind a quota reason, and which reasons no waiting ends.

The scheduler's text names the first resource that stopped it, in an order that is random. Here
the quota lines themselves are asked, so that a job that is too large is told so at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from datetime import datetime
from typing import NamedTuple

from kube.catalog import CPU
from kube.explain_facts import Facts
from kube.lenient import amount
from kube.pod_requests import PodSet
from kube.queue_facts import Group, Line, QueueFacts
from kube.quota_tree import Bound
from kube.reason_codes import CODES, reason
from kube.reasons import Change, FreedBy, Reason

TOO_LARGE = frozenset({"max_capacity", "max_borrowing", "max_cohort"})
_CODE_OF = {
    Bound.OWN_QUOTA: "max_capacity",
    Bound.BORROWING_LIMIT: "max_borrowing",
}


def with_numbers(facts: Facts, said: Reason, since: datetime | None) -> Reason:
    """Add what is asked, free and missing to a reason of the scheduler's text, and its time."""
    if said.code == "quota_short":
        return _short(facts, said, since)
    if said.code == "max_capacity":
        return _too_large(facts, said, since)
    if said.code in ("topology_too_small", "topology_partly"):
        return _topology(said, since)
    return said._replace(since=since)


# --- enough quota, too much of it in use ------------------------------------------------------------


def _short(facts: Facts, said: Reason, since: datetime | None) -> Reason:
    line = said.flavor, said.resource
    missing = amount(said.resource, said.params.get("missing", ""))
    asked = _asked(facts, said)
    free = None if asked is None else max(0, asked - missing)
    room = _available(facts, line)
    held = _held(facts, line, room is not None)
    params = {**said.params, **held}
    if room is not None and asked is not None:
        over = max(0, -room[0])
        # The text counts from nothing free also where more is in use than there is.
        if over and asked + over > missing:
            missing = asked + over
            params |= {"over": str(over), "missing": written(said.resource, missing)}
    bound = _bound_now(facts, line, room)
    if bound:
        params["bound"] = str(bound)
    return said._replace(
        asked=asked, free=free, missing=missing, params=params, since=since,
        freed_by=_freed_by(bound, held),
    )  # fmt: skip


def _asked(facts: Facts, said: Reason | _Short, *, least: bool = False) -> int | None:
    """Return what a pod set asks for with those before it, as the scheduler adds them up.

    ``least``: of a job that may start smaller, what its smallest size asks for.
    """
    total, found = 0, False
    for pod_set in facts.workload.pod_sets:
        total += (pod_set.least if least else pod_set.requests).get(said.resource, 0)
        if pod_set.name == said.pod_set or not said.pod_set:
            found = True
        if pod_set.name == said.pod_set:
            break
    return total if found else None


def _available(facts: Facts, line: Line) -> tuple[int, Bound] | None:
    if facts.queue is None or facts.tree is None:
        return None
    return facts.tree.available(facts.queue.name, line)


def _bound_now(facts: Facts, line: Line, room: tuple[int, Bound] | None) -> Bound | None:
    """Return what keeps the queue from more: its own lines, a limit, or the whole cohort."""
    queue = facts.queue
    if queue is None:
        return None
    if room is not None:
        return room[1]
    if not queue.cohort:
        return Bound.OWN_QUOTA
    quota = queue.quotas.get(line)
    if quota is None or quota.borrowing is None:
        return Bound.COHORT
    at_limit = queue.held.get(line, 0) >= quota.nominal + quota.borrowing
    return Bound.BORROWING_LIMIT if at_limit else Bound.COHORT


def _held(facts: Facts, line: Line, whole: bool) -> dict[str, str]:
    """Return how much the queue and the others of its cohort hold: numbers, no names.

    ``whole``: the cohort is known.
    """
    queue, tree = facts.queue, facts.tree
    if queue is None or not queue.known_use or line not in queue.quotas:
        return {}
    found = {
        "held_own": str(queue.held.get(line, 0)),
        "nominal": str(queue.quotas[line].nominal),
    }
    if tree is not None and whole and queue.cohort:
        found["held_others"] = str(tree.held_by_others(queue.name, line))
    return found


def _freed_by(bound: Bound | None, held: dict[str, str]) -> FreedBy:
    if bound in (None, Bound.OWN_QUOTA, Bound.BORROWING_LIMIT):
        return FreedBy.OWN_QUEUE
    return FreedBy.OWN_QUEUE if held.get("held_others") == "0" else FreedBy.COHORT


# --- more than there can ever be --------------------------------------------------------------------


def _too_large(facts: Facts, said: Reason, since: datetime | None) -> Reason:
    line, resource = (said.flavor, said.resource), said.resource
    asked = amount(resource, said.params.get("earlier")) + amount(resource, said.params["asked"])
    capacity = amount(resource, said.params["capacity"])
    room = _potential(facts, line)
    stale = room is not None and facts.tree is not None and facts.tree.complete and room >= asked
    params = {**said.params, "total": written(resource, asked)}
    made = said._replace(
        params=params, asked=asked, free=capacity, missing=max(0, asked - capacity), stale=stale,
        never=not stale, since=since,
    )  # fmt: skip
    return made if stale else _told_apart(facts, made, capacity)


def _potential(facts: Facts, line: Line) -> int | None:
    if facts.queue is None or facts.tree is None:
        return None
    found = facts.tree.potential(facts.queue.name, line)
    return found[0] if found else None


def _told_apart(facts: Facts, said: Reason, capacity: int) -> Reason:
    """Tell the end of the own quota, the borrowing limit and the end of the cohort apart."""
    queue = facts.queue
    if queue is None or said.asked is None:
        return said
    bound, change = _apart(facts, queue, said, said.asked, capacity)
    code = _CODE_OF.get(bound, "max_cohort")
    known = CODES[code]
    params = {**said.params, "bound": str(bound)}
    return said._replace(
        code=code, stage=known.stage, freed_by=known.freed_by, params=params, change=change
    )


def _apart(
    facts: Facts, queue: QueueFacts, about: Reason | _Short, asked: int, capacity: int
) -> tuple[Bound, Change | None]:
    line = (about.flavor, about.resource)
    bound = _bound_ever(facts, queue, line, capacity)
    least = _asked(facts, about, least=True) or asked
    enough = least if capacity < least < asked else asked
    return bound, _change(facts, queue, line, enough, capacity, bound)


def _bound_ever(facts: Facts, queue: QueueFacts, line: Line, capacity: int) -> Bound:
    found = facts.tree.utmost(queue.name, line) if facts.tree else None
    if found is not None and found[0] == capacity:
        return found[1]
    quota = queue.quotas.get(line)
    if not queue.cohort:
        return Bound.OWN_QUOTA
    limited = quota is not None and quota.borrowing is not None
    if limited and quota is not None and capacity == quota.nominal + (quota.borrowing or 0):
        return Bound.BORROWING_LIMIT
    return Bound.COHORT


def _change(
    facts: Facts, queue: QueueFacts, line: Line, asked: int, capacity: int, bound: Bound
) -> Change | None:
    """Return the smallest change of the queue's own line after which so much could be had.

    A borrowing limit goes up where others have so much to lend, as far as that is known.
    """
    quota = queue.quotas.get(line)
    if quota is None:
        return None
    flavor, resource = line
    more = asked - capacity
    reach = facts.tree.without_own_limit(queue.name, line) if facts.tree else None
    lendable = reach is None or reach >= asked
    if bound is Bound.BORROWING_LIMIT and quota.borrowing is not None and lendable:
        return Change(
            queue.name, flavor, resource, "borrowing_limit",
            quota.borrowing, quota.borrowing + more,
        )  # fmt: skip
    return Change(queue.name, flavor, resource, "nominal", quota.nominal, quota.nominal + more)


# --- asked of the quota lines themselves --------------------------------------------------------------


def too_large(facts: Facts, named: Set[Line] = frozenset()) -> list[Reason]:
    """Return what a job asks for beyond all that its queue can have, whatever the text says.

    What is ``named`` already is left out.

    One flavor that is large enough is enough, so a reason is only given where every flavor of a
    group falls short. A job that may start smaller counts with its smallest size.
    """
    queue, tree, asked = facts.queue, facts.tree, facts.workload.as_written
    if queue is None or tree is None:
        return []
    if asked is None or tree.queues.get(queue.name) is not queue:
        found = _too_large_of(facts, queue)
    else:
        # Equal jobs of one queue are many; the answer for them holds as long as the tree does.
        key = (queue.name, asked.least)
        if key not in tree.answers:
            tree.answers[key] = _too_large_of(facts, queue)
        found = tree.answers[key]
    since = facts.workload.created
    return [
        each._replace(since=since) for each in found if (each.flavor, each.resource) not in named
    ]


def _too_large_of(facts: Facts, queue: QueueFacts) -> list[Reason]:
    return [
        _computed(facts, queue, each)
        for group in queue.groups
        for name, least in _needs(facts.workload.pod_sets, group)
        for each in _all_short(facts, group, name, least)
    ]


def _needs(pod_sets: Iterable[PodSet], group: Group) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield what must come from one flavor: each pod set, and all of them if there is but one."""
    together: dict[str, int] = {}
    for pod_set in pod_sets:
        own = {key: value for key, value in pod_set.least.items() if key in group.resources}
        for key, value in own.items():
            together[key] = together.get(key, 0) + value
        yield pod_set.name, dict(together if len(group.flavors) == 1 else own)


class _Short(NamedTuple):
    """A quota line that can never hold what is asked of it."""

    flavor: str
    resource: str
    pod_set: str
    asked: int
    capacity: int


def _all_short(facts: Facts, group: Group, pod_set: str, least: dict[str, int]) -> list[_Short]:
    found: list[_Short] = []
    wanted = sorted(least.items())
    for flavor in group.flavors:
        short = [
            _Short(flavor, resource, pod_set, value, capacity)
            for resource, value in wanted
            if value and (capacity := _potential(facts, (flavor, resource))) is not None
            and value > capacity
        ]  # fmt: skip
        if not short:
            return []
        found += short
    return found


def _computed(facts: Facts, queue: QueueFacts, short: _Short) -> Reason:
    resource, asked, capacity = short.resource, short.asked, short.capacity
    bound, change = _apart(facts, queue, short, asked, capacity)
    params = {
        "capacity": written(resource, capacity), "total": written(resource, asked),
        "bound": str(bound),
    }  # fmt: skip
    return reason(
        _CODE_OF.get(bound, "max_cohort"), params=params, flavor=short.flavor, resource=resource,
        pod_set=short.pod_set, asked=asked, free=capacity, missing=asked - capacity,
        change=change,
    )  # fmt: skip


def written(resource: str, value: int) -> str:
    """Write an amount as a cluster would."""
    return f"{value}m" if resource == CPU else str(value)


def fits_now(facts: Facts) -> bool:
    """Return whether all that is asked for could be had this moment from one flavor each."""
    queue = facts.queue
    if queue is None or facts.tree is None or not facts.workload.pod_sets:
        return False
    needs = [need for group in queue.groups for need in _flavors(facts, group)]
    return bool(needs) and all(needs)


def _flavors(facts: Facts, group: Group) -> Iterator[bool]:
    total: dict[str, int] = {}
    for pod_set in facts.workload.pod_sets:
        for key, value in pod_set.requests.items():
            if key in group.resources:
                total[key] = total.get(key, 0) + value
    if total:
        yield any(
            all(
                (room := _available(facts, (flavor, key))) is not None and room[0] >= value
                for key, value in total.items()
            )
            for flavor in group.flavors
        )


# --- topology ---------------------------------------------------------------------------------------


def _topology(said: Reason, since: datetime | None) -> Reason:
    """Count in pods or slices, as the text does."""
    parts = said.params.get("parts", "")
    if not parts:
        return said._replace(since=since)
    asked, fits = amount("", parts), amount("", said.params.get("fits", "0"))
    return said._replace(asked=asked, free=fits, missing=max(0, asked - fits), since=since)
