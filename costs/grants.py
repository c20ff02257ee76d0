"""From changes of queues and cohorts to what each of them had over time, and where it was.

The path of a queue moves when any cohort above it moves, so it is worked out anew at each of
these instants. A cohort that nobody has made is a root without quota of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from costs.facts import Grant, Pool
from costs.lending import Path, Quota
from costs.steps import Dated

K = TypeVar("K")
V = TypeVar("V")
Lines = Mapping[Pool, Quota]
#: What holds from each instant on, by key and pool; ``None`` is nothing.
Held = dict[tuple[K, Pool], list[tuple[int, V | None]]]
#: Nobody builds cohorts that deep; Kueue leaves what does, or a circle, out of its sums.
DEEPEST: Final = 50


class Change(NamedTuple):
    """How a queue or a cohort stood from an instant on; without ``lines`` it was gone."""

    name: str
    since: int
    parent: str = ""
    lines: Lines | None = None


class Quotas(NamedTuple):
    """What queues and cohorts had, as :class:`costs.facts.Records` takes it."""

    grants: dict[tuple[str, Pool], Dated[Grant]]
    cohorts: dict[tuple[Path, Pool], Dated[Quota]]


def quotas(queues: Iterable[Change], cohorts: Iterable[Change]) -> Quotas:
    """Return the quotas over time; changes of one name in their order, the later one counts."""
    above = _by_name(cohorts)
    tree = _Tree(above)
    found = Quotas({}, {})
    for name, dated in _by_name(queues).items():
        grants: Held[str, Grant] = {}
        for at in tree.edges(dated):
            change = dated.at(at)
            path = tree.path(change.parent, at) if change and change.parent else ()
            here = {(name, pool): Grant(path, quota) for pool, quota in _lines(change).items()}
            _from(at, here, grants)
        found.grants.update(_dated(grants))
    for name, dated in above.items():
        own: Held[Path, Quota] = {}
        for at in tree.edges(dated):
            path = tree.path(name, at)
            _from(at, {(path, pool): q for pool, q in _lines(dated.at(at)).items()}, own)
        found.cohorts.update(_dated(own))
    return found


class _Tree:
    """Which cohort was above which, and when that changed."""

    def __init__(self, cohorts: Mapping[str, Dated[Change]]) -> None:
        self.cohorts = cohorts
        self.moves = sorted({at for dated in cohorts.values() for at in _moves(dated)})
        self._paths: dict[tuple[str, int], Path] = {}

    def edges(self, dated: Dated[Change]) -> Sequence[int]:
        """Return when one may have another quota or place: its own changes, and the tree's."""
        first = dated.starts[0]
        return sorted({*dated.starts, *(at for at in self.moves if at > first)})

    def path(self, name: str, at: int) -> Path:
        """Return the cohorts from the root down to one, as they were at an instant."""
        known = self._paths.get((name, at))
        if known is None:
            found = [name]
            while (parent := self._parent(found[-1], at)) and parent not in found:
                if len(found) == DEEPEST:
                    break
                found.append(parent)
            known = self._paths[name, at] = tuple(reversed(found))
        return known

    def _parent(self, name: str, at: int) -> str:
        dated = self.cohorts.get(name)
        change = dated.at(at) if dated else None
        return change.parent if change and change.lines is not None else ""


def _by_name(changes: Iterable[Change]) -> dict[str, Dated[Change]]:
    found: dict[str, dict[int, Change]] = defaultdict(dict)
    for each in changes:
        found[each.name][each.since] = each
    return {name: Dated(list(by_time.items())) for name, by_time in sorted(found.items())}


def _moves(dated: Dated[Change]) -> Iterable[int]:
    before = ""
    for at, change in zip(dated.starts, dated.values, strict=True):
        now = change.parent if change and change.lines is not None else ""
        if now != before:
            yield at
        before = now


def _lines(change: Change | None) -> Lines:
    return (change.lines if change else None) or {}


def _from(at: int, here: Mapping[tuple[K, Pool], V], held: Held[K, V]) -> None:
    """Note what holds from an instant on; of what is on record and not here any more, nothing."""
    for key in {*held, *here}:
        steps = held.setdefault(key, [])
        value = here.get(key)
        if value != (steps[-1][1] if steps else None):
            steps.append((at, value))


def _dated(held: Held[K, V]) -> dict[tuple[K, Pool], Dated[V]]:
    return {key: Dated(steps) for key, steps in held.items()}
