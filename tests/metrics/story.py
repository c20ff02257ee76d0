"""One hour of a made-up cluster, scraped every 30 seconds on the full and half minute.

Samples stand before and after the hour too, so that a range which counts both of its ends, or
looks too far back, is found out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from costs.promql import ACTIVE, ENERGY, RESERVED, UTILISATION
from costs.times import HOUR, Span, instant
from tests.metrics.server import History

EVERY = 30
BEGIN = instant(datetime(2026, 11, 2, 8, tzinfo=UTC))
STORY = Span(BEGIN, BEGIN + HOUR)
JOB = "dcgm"
Value = Callable[[int], float | None]


def always(value: float) -> Value:
    return lambda _: value


def between(starts: int, ends: int, value: float) -> Value:
    """A value from one minute to another; the sample on the first minute is not in it."""
    return lambda at: value if starts * 60 < at <= ends * 60 else None


class Cluster:
    """Writes series as exporters and Prometheus would have."""

    def __init__(self) -> None:
        self.history = History()
        self.down: dict[str, tuple[int, int]] = {}

    def series(
        self, metric: str, labels: Mapping[str, str], value: Value, margin: int = 600
    ) -> None:
        node = labels.get("instance", "")
        starts, ends = self.down.get(node, (0, 0))
        samples = []
        for at in range(-margin, HOUR + margin + 1, EVERY):
            found = None if starts * 60 < at <= ends * 60 else value(at)
            if found is not None:
                samples.append((BEGIN + at, found))
        self.history.add(metric, labels, samples)

    def node(self, name: str, *, down: tuple[int, int] = (0, 0), **own: str) -> None:
        """An exporter, and the minutes in which it did not answer."""
        self.down[name] = (0, 0)
        up = lambda at: 0 if down[0] * 60 < at <= down[1] * 60 else 1  # noqa: E731
        self.series("up", {"job": JOB, "instance": name, **own}, up)
        self.down[name] = down

    def device(
        self, node: str, uuid: str, value: Value, metric: str = ACTIVE, **labels: str
    ) -> None:
        base = {"job": JOB, "instance": node, "hostname": node, "UUID": uuid, "modelName": "A100"}
        self.series(metric, {**base, **labels}, value)


def story() -> History:
    """Every case that a harvest must get right, each on a device of its own."""
    made = Cluster()
    made.node("n1")
    made.device("n1", "GPU-a", between(0, 20, 0.5), namespace="nlp", pod="part-hour")
    made.device("n1", "GPU-b", always(0.25), namespace="nlp", pod="aligned")
    for n, mean in enumerate((0.9, 0.8, 0, 0.5)):
        made.device("n1", f"GPU-w8-{n}", always(mean), namespace="nlp", pod="four")
    for pod in ("share-1", "share-2", "share-3"):
        made.device("n1", "GPU-s", always(0.714), namespace="cv", pod=pod)
    made.device("n1", "GPU-t", between(-10, 30, 0.5), namespace="nlp", pod="first")
    made.device("n1", "GPU-t", between(30, 70, 0.5), namespace="nlp", pod="second")
    made.device("n1", "GPU-c", lambda at: 1.4 if at % 60 else 0.2, namespace="nlp", pod="clamped")
    made.device("n1", "GPU-n", lambda at: "NaN" if at % 60 else 0.5, namespace="nlp", pod="odd")
    made.device("n1", "GPU-h", always(0.9))
    made.device("n1", "GPU-f", always(50), UTILISATION, namespace="cv", pod="fallback")
    # Both metrics: the better one counts, and nothing twice.
    made.device("n1", "GPU-b", always(100), UTILISATION, namespace="nlp", pod="aligned")
    # 300 W, and a counter that begins anew after half an hour.
    joules = lambda at: (at + 600 if at < 1800 else at - 1800) * 300_000  # noqa: E731
    made.device("n1", "GPU-b", joules, ENERGY, namespace="nlp", pod="aligned")

    made.node("n2", down=(20, 40))
    made.device("n2", "GPU-d", always(0.8), namespace="nlp", pod="outage")

    # Prometheus keeps the labels of its target: those of the pod have another name.
    own = {"namespace": "monitoring", "pod": "dcgm-x7"}
    made.node("n3", **own)
    made.device("n3", "GPU-e", always(0.4), **own, exported_namespace="cv", exported_pod="kept")
    made.device("n3", "GPU-i", always(0), **own)

    made.node("n4")
    mig = {"GPU_I_ID": "1", "GPU_I_PROFILE": "1g.10gb"}
    made.device("n4", "GPU-m", always(0.6), **mig, namespace="nlp", pod="slice")
    mig = {"GPU_I_ID": "5", "GPU_I_PROFILE": "3g.40gb"}
    made.device("n4", "GPU-m", between(0, 30, 0.5), **mig, namespace="cv", pod="slice")
    # Utilisation says nothing of a GPU that is cut into instances.
    made.device("n4", "GPU-m", always(0), UTILISATION)

    # The exporter was started anew in the middle: another address, the same node and device.
    for address, starts, ends in (("10.0.0.1:9400", -10, 30), ("10.0.0.2:9400", 30, 70)):
        up = between(starts, ends, 1)
        made.series("up", {"job": JOB, "instance": address}, up)
        labels = {"job": JOB, "instance": address, "hostname": "n5", "UUID": "GPU-r"}
        labels |= {"modelName": "A100", "namespace": "nlp", "pod": "restarted"}
        made.series(ACTIVE, labels, between(starts, ends, 0.5))

    queue = {"job": "kueue", "cluster_queue": "nlp-train", "flavor": "a100"}
    queue["resource"] = "nvidia.com/gpu"
    made.series(RESERVED, {**queue, "instance": "k1", "replica_role": "leader"}, always(5))
    made.series(RESERVED, {**queue, "instance": "k2", "replica_role": "follower"}, always(7))
    return made.history
