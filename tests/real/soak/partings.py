"""Where a ledger and the gauge differ for longer than a rounded second and one sample explain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from cluster.nodes import GPU
from queues.selectors.intervals import Slice
from tests.real.soak.meters import Gauges

LONG = 2  # samples


class Parting(NamedTuple):
    """One queue, for as long as the two differ; the numbers are those of its first sample."""

    queue: str
    starts: datetime
    ends: datetime
    ledger: int
    gauge: float
    open: tuple[str, ...]

    def __str__(self) -> str:
        span = f"{self.starts:%H:%M:%S} to {self.ends:%H:%M:%S}"
        said = f"{self.queue} {span}: ledger {self.ledger}, gauge {self.gauge:.0f}"
        return f"{said}; {', '.join(self.open)}"


def devices(each: Slice) -> int:
    """Return the devices that a slice holds."""
    return sum(part["amount"] for part in each.held if part["resource"] == GPU)


def partings(gauges: Gauges, slices: Sequence[Slice]) -> Iterator[Parting]:
    """Give the times that last for more than ``LONG`` samples, queue by queue."""
    for queue in sorted(
        {each.queue for each in slices} | {q for s in gauges.samples for q in s[2]}
    ):
        yield from _of_one(queue, gauges, [each for each in slices if each.queue == queue])


def _of_one(queue: str, gauges: Gauges, slices: Sequence[Slice]) -> Iterator[Parting]:
    run: list[tuple[datetime, int, float]] = []
    for _, at, said in gauges.samples:
        mine = sum(devices(each) for each in slices if each.starts <= at < each.ends)
        theirs = said.get(queue, 0.0)
        if mine != theirs:
            run.append((at, mine, theirs))
            continue
        if len(run) > LONG:
            yield _parting(queue, run, slices)
        run = []


def _parting(
    queue: str, run: Sequence[tuple[datetime, int, float]], slices: Sequence[Slice]
) -> Parting:
    starts, ends = run[0][0], run[-1][0]
    near = [each for each in slices if each.starts <= ends and each.ends >= starts]
    said = [f"{x.lifetime_id} {x.phase} {x.starts:%M:%S}-{x.ends:%M:%S}" for x in near]
    return Parting(queue, starts, ends, run[0][1], run[0][2], tuple(said))
