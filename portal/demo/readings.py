"""What exporters of the demo's GPUs say: how busy each device is, and which pod has it.

Its nodes have no GPUs, so all of it is made up, the same each time. The past is written as text
of OpenMetrics, one reading a minute and device; :mod:`portal.demo.exporter` says the same of what
runs now.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from costs.promql import ACTIVE
from portal.demo.past import CV, SEED, Job, Times
from portal.demo.past_places import A_NODE, NODES, STRAY
from portal.demo.past_pods import pods

JOB: Final = "dcgm"
#: Seconds between two readings of an exporter; each of them has its own moment of the minute.
EVERY: Final = 60
OFFSETS: Final = {node: 7 + 15 * n for n, node in enumerate(NODES)}
#: In thousandths of the whole: by the first word of a job's name, and of what nobody expects.
LEVELS: Final = {"train": 820, "finetune": 770, "evaluate": 520, "detect": 470, "segment": 410}
OTHERS: Final = 600
IDLE: Final = 1
BUSY: Final = 970
#: Thousandths around a job's own level, and around each reading.
SPREAD, NOISE = 40, 60
#: Seconds in which a job reads its data and computes next to nothing.
WARM_UP: Final = 180
LOADING: Final = 30
_PRIME: Final = 1009
_CHANCE: Final = random.Random(SEED)  # noqa: S311 - a story, no secret
_NOISE: Final = [round(_CHANCE.gauss(0, NOISE)) for _ in range(_PRIME)]


class Stretch(NamedTuple):
    """A time of one device with one pod, or with none. ``level`` in thousandths."""

    starts: int
    ends: int
    namespace: str
    pod: str
    level: int


def level_of(name: str) -> int:
    """Return how busy a job keeps its devices, by its name; the same each time."""
    own = random.Random(name).gauss(0, SPREAD)  # noqa: S311 - a story, no secret
    return max(0, min(1000, LEVELS.get(name.split("-")[0], OTHERS) + round(own)))


def value(level: int, at: int, device: int, age: int) -> str:
    """Return a reading between 0 and 1, with three decimal places."""
    if level > LOADING and age < WARM_UP:
        level = LOADING
    around = _NOISE[(at // EVERY * 31 + device * 101) % _PRIME] if level > LOADING else 0
    milli = max(0, min(1000, level + around))
    return f"{milli // 1000}.{milli % 1000:03}"


def labels(node: str, device: int, namespace: str = "", pod: str = "") -> str:
    """Return the labels of a series as text; without a pod it names none."""
    found = {
        "gpu": str(device), "UUID": f"GPU-demo-{node}-{device}", "device": f"nvidia{device}",
        "modelName": "NVIDIA A100-SXM4-80GB", "hostname": node,
    }  # fmt: skip
    if pod:
        found |= {"container": "main", "namespace": namespace, "pod": pod}
    return ",".join(f'{key}="{each}"' for key, each in found.items())


class Past:
    """The readings of the story."""

    def __init__(self, story: Times, found: Iterable[Job]) -> None:
        """Put the pods of the jobs on their devices, and use without a pod where none is."""
        self.down: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for node, lo, hi in (*story.blind, ("gpu-3", *story.down)):
            self.down[node].append((_second(lo), _second(hi)))
        idle = (_second(story.idle[0]), _second(story.idle[1]))
        self.of: Mapping[tuple[str, int], list[Stretch]] = {
            (node, device): [] for node in NODES for device in range(A_NODE)
        }
        for job in found:
            for pod in pods(job):
                level = level_of(job.name)
                span = _second(pod.starts), _second(pod.ends)
                for device in pod.part.devices:
                    self.of[pod.part.node, device] += [
                        Stretch(*part, job.kind.team, pod.name, each)
                        for part, each in _idle(span, idle if job.kind.team == CV else None, level)
                    ]
        for lo, hi in story.stray:
            self._stray(_second(lo), _second(hi))
        for each in self.of.values():
            each.sort()

    def _stray(self, lo: int, hi: int) -> None:
        line = self.of[STRAY]
        if not any(each.starts < hi and lo < each.ends for each in line):
            line.append(Stretch(lo, hi, "", "", BUSY))

    def text(self, starts: int, ends: int) -> Iterator[str]:
        """Yield the lines of all readings in [starts, ends), metric by metric."""
        for (node, device), line in self.of.items():
            yield from self._device(node, device, line, starts, ends)
        for node in NODES:
            for at in moments(node, starts, ends):
                up = int(not self._is_down(node, at))
                yield f'up{{job="{JOB}",instance="{node}"}} {up} {at}\n'
        yield "# EOF\n"

    def _device(
        self, node: str, device: int, line: list[Stretch], starts: int, ends: int
    ) -> Iterator[str]:
        head = f'{ACTIVE}{{job="{JOB}",instance="{node}",'
        nobody = f"{head}{labels(node, device)}}}"
        n = max(0, bisect_right(line, (starts,)) - 1)
        named = ""
        of = -1
        for at in moments(node, starts, ends):
            if self._is_down(node, at):
                continue
            while n < len(line) and line[n].ends <= at:
                n += 1
            if n == len(line) or at < line[n].starts:
                yield f"{nobody} 0.000 {at}\n"
                continue
            one = line[n]
            if of != n:
                of, named = n, f"{head}{labels(node, device, one.namespace, one.pod)}}}"
            yield f"{named} {value(one.level, at, device, at - one.starts)} {at}\n"

    def _is_down(self, node: str, at: int) -> bool:
        return any(lo <= at < hi for lo, hi in self.down.get(node, ()))


def moments(node: str, starts: int, ends: int) -> range:
    """Return when the exporter of a node is read within [starts, ends)."""
    offset = OFFSETS[node]
    return range(starts + (offset - starts) % EVERY, ends, EVERY)


def _idle(
    span: tuple[int, int], idle: tuple[int, int] | None, level: int
) -> list[tuple[tuple[int, int], int]]:
    """Cut a time where its team begins and ends to compute nothing."""
    if idle is None or span[1] <= idle[0] or idle[1] <= span[0]:
        return [(span, level)]
    parts = [
        ((span[0], min(span[1], idle[0])), level),
        ((max(span[0], idle[0]), min(span[1], idle[1])), IDLE),
        ((max(span[0], idle[1]), span[1]), level),
    ]
    return [(part, each) for part, each in parts if part[0] < part[1]]


def _second(at: datetime) -> int:
    return int(at.timestamp())
