"""The questions that are put to Prometheus about one hour, as text.

The range is one millisecond short of the hour. Prometheus 2 counts both of its ends and Prometheus
3 the later one; with the millisecond both count a sample on the hour's end and none on its start.
A subquery would see old samples again for five minutes, so none is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

ACTIVE: Final = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
#: In percent, and only of whole GPUs: "a kernel ran", not how much of the GPU it used.
UTILISATION: Final = "DCGM_FI_DEV_GPU_UTIL"
#: A counter of millijoules.
ENERGY: Final = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"
METRICS: Final = (ACTIVE, UTILISATION)
RESERVED: Final = "kueue_cluster_queue_resource_reservation"
RANGE: Final = "[59m59s999ms]"
#: What tells series apart: the device, the pod in all forms of its labels, and the target.
BY: Final = (
    "UUID", "GPU_I_ID", "GPU_I_PROFILE", "modelName", "gpu", "hostname", "Hostname", "node", "job",
    "instance", "namespace", "pod", "container", "exported_namespace", "exported_pod",
    "exported_container", "pod_namespace", "pod_name", "pod_uid", "vgpu",
)  # fmt: skip
_LABELS: Final = ",".join(BY)


def quoted(text: str) -> str:
    """Return text as a string of PromQL."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _of(job: str, *more: str) -> str:
    matchers = [f"job={quoted(job)}"] if job else []
    return "{" + ",".join((*matchers, *more)) + "}"


def sums(metric: str, job: str) -> str:
    """Ask for the sum of the samples of each series."""
    return f"sum by ({_LABELS}) (sum_over_time({metric}{_of(job)}{RANGE})){_without(metric, job)}"


def counts(metric: str, job: str) -> str:
    """Ask for the number of samples of each series."""
    return f"sum by ({_LABELS}) (count_over_time({metric}{_of(job)}{RANGE})){_without(metric, job)}"


def _without(metric: str, job: str) -> str:
    """Leave out devices that say themselves how busy they were, where there is a worse source."""
    if metric == ACTIVE:
        return ""
    return f" unless on (UUID,instance) count_over_time({ACTIVE}{_of(job)}{RANGE})"


def beyond(metric: str, job: str) -> str:
    """Ask which series have a sample below nothing or above the whole."""
    whole = 1 if metric == ACTIVE else 100
    of = f"{metric}{_of(job)}{RANGE}"
    return f"max_over_time({of}) > {whole} or min_over_time({of}) < 0"


def raw(metric: str, job: str, devices: Iterable[str]) -> str:
    """Ask for every sample of some devices, by their UUIDs."""
    some = "|".join(re.escape(each).replace("\\-", "-") for each in devices)
    return f"{metric}{_of(job, f'UUID=~{quoted(some)}')}{RANGE}"


def energy(job: str) -> str:
    """Ask how much energy each series counted, over resets of its counter."""
    return f"sum by ({_LABELS}) (increase({ENERGY}{_of(job)}{RANGE}))"


def targets_up(job: str) -> str:
    """Ask in how many scrapes each target answered, with the labels that are the target's own."""
    return f"sum by (job,instance,namespace,pod) (sum_over_time(up{_of(job)}{RANGE}))"


def gauge(metric: str, function: str) -> str:
    """Ask for a gauge of Kueue; a replica that does not lead repeats what it once read."""
    of = f'{metric}{{replica_role!="follower"}}{RANGE}'
    return f"sum by (job,instance,cluster_queue,flavor,resource) ({function}({of}))"


def jobs() -> str:
    """Ask which jobs report use at this moment, and how many devices."""
    names = quoted("|".join(METRICS))
    return f"count by (__name__,job) ({{__name__=~{names}}})"
