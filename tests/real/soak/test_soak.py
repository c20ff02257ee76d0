"""Half an hour of random jobs, preemptions and quota edits: nothing unknown, leaked or lost.

Not part of any other run: ``make soak``. Kueue's own gauge, read every second, is the control
total of the ledger: of its intervals, and of the facts of hours that are counted from them.

GPUPORTAL_SOAK_MINUTES sets another length, GPUPORTAL_SOAK_SEED another play. With
GPUPORTAL_SOAK_KILL the observer is killed in between and stays away for so many seconds.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
from datetime import timedelta
from itertools import pairwise

import pytest
from django.db.models import Q, Sum

from cluster.api import ApiError
from cluster.nodes import GPU
from costs.models import TenantHour
from costs.services import hourly
from costs.times import HOUR, Span, hour_of, instant, moment
from queues.models import Gap, Interval, Lifetime, PodInterval, PodRun, Stream, UnknownText
from queues.selectors.intervals import HOLDING, Slice, overlapping
from tests.real import registered
from tests.real.situations import KUEUE, Scene, priority_class, stage
from tests.real.soak.meters import EVERY, Gauges
from tests.real.soak.partings import devices, partings
from tests.stack import stack, wait_for

pytestmark = [pytest.mark.soak, pytest.mark.real, pytest.mark.django_db(transaction=True)]

MINUTES = float(os.environ.get("GPUPORTAL_SOAK_MINUTES", "30"))
SEED = int(os.environ.get("GPUPORTAL_SOAK_SEED", "20261130"))
KILL = float(os.environ.get("GPUPORTAL_SOAK_KILL", "0"))
FIRST_PART = 1 / 3  # of the time, before the observer is killed
APART = 0.005  # of the control total
GROWTH = 20.0  # MB an hour; a leak of one small record for each event would be more
PEAK = 250.0  # MB
QUEUES = {"red": 8, "green": 8, "blue": 4}
MOST = 40  # jobs that wait or run at once


@pytest.fixture
def scene(control_plane, admin, name):
    with stage(control_plane, name) as made:
        yield made


@pytest.fixture
def cluster(admin, place, settings, scene):
    registered.seal_with_fresh_keys(settings)
    return registered.register(admin, place, registered.person("dave", "admin"))


class Play:
    """Random acts of users and administrators, the same for the same seed."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.dice, self.count = scene, random.Random(SEED), 0  # noqa: S311 - a play
        cohort = scene.make("Cohort", f"{scene.name}-dept", {})
        preemption = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
        self.entries = {
            what: scene.queue(what, gpus, cohortName=cohort, preemption=preemption)
            for what, gpus in QUEUES.items()
        }
        values = {"low": 10, "middle": 100, "high": 1000}
        self.priorities = [priority_class(scene, what, value) for what, value in values.items()]
        self.acts = {self.submit: 12, self.delete: 2, self.edit: 1, self.switch: 1, self.hold: 1}

    def act(self) -> None:
        [what] = self.dice.choices(list(self.acts), weights=list(self.acts.values()))
        # What an act wanted may have ended by itself a moment before.
        with contextlib.suppress(ApiError):
            what()

    def submit(self) -> None:
        if len(self.jobs()) >= MOST:
            return self.delete()
        self.count += 1
        self.scene.job(
            f"soak-{self.count}", self.dice.choice(list(self.entries.values())),
            self.dice.choice([1, 2, 4, 8]), seconds=self.dice.randint(5, 60),
            priority=self.dice.choice(self.priorities),
        )  # fmt: skip
        return None

    def jobs(self) -> list[str]:
        items = self.scene.plane.api.get(self._jobs)["items"]
        return [
            each["metadata"]["name"]
            for each in items
            if not each["status"].get("succeeded") and "deletionTimestamp" not in each["metadata"]
        ]

    def delete(self) -> None:
        if names := self.jobs():
            path = f"{self._jobs}/{self.dice.choice(names)}?propagationPolicy=Background"
            self.scene.plane.api.request("DELETE", path)

    @property
    def _jobs(self) -> str:
        return f"/apis/batch/v1/namespaces/{self.scene.name}/jobs"

    def edit(self) -> None:
        """Change the quota of a queue, also below what it holds."""
        path = f"{KUEUE}/clusterqueues/{self.scene.name}-{self.dice.choice(list(QUEUES))}"
        spec = self.scene.plane.api.get(path)["spec"]
        for resource in spec["resourceGroups"][0]["flavors"][0]["resources"]:
            if resource["name"] == GPU:
                resource["nominalQuota"] = str(self.dice.randint(2, 12))
        self.scene.patch(path, {"spec": {"resourceGroups": spec["resourceGroups"]}})

    def switch(self) -> None:
        """Switch a workload off, as its owner may."""
        items = self.scene.plane.api.get(f"{KUEUE}/namespaces/{self.scene.name}/workloads")["items"]
        if items:
            self.scene.patch(self.scene.path(self.dice.choice(items)), {"spec": {"active": False}})

    def hold(self) -> None:
        """Stop a queue, with or without its running jobs, or let it go on."""
        policy = self.dice.choice(["None", "None", "Hold", "HoldAndDrain"])
        self.scene.stop(self.dice.choice(list(QUEUES)), policy)


def test_nothing_is_unknown_leaked_or_lost(scene, cluster, settings, tmp_path):
    play = Play(scene)
    keys = {
        "GPUPORTAL_SEALING_PUBLIC_KEY": settings.SEALING_PUBLIC_KEY,
        "GPUPORTAL_SEALING_PRIVATE_KEY": settings.SEALING_PRIVATE_KEY,
    }
    with stack(tmp_path, **keys) as processes:
        observer = processes.observer(cluster.slug)
        pods = Stream.objects.filter(kind="Pod", history_since__isnull=False)
        wait_for(lambda: pods.exists() and Stream.objects.filter(kind="Workload").exists())
        # From nothing to nothing: what the gauge has counted is then all that hours can have.
        with Gauges(scene.plane, scene.name, observer.pid) as gauges:
            if KILL:
                perform(play, gauges, MINUTES * FIRST_PART)
                observer = away(play, gauges, processes, cluster)
            perform(play, gauges, MINUTES * (1 - FIRST_PART) if KILL else MINUTES)
            for queue in QUEUES:
                scene.stop(queue, "HoldAndDrain")
            holding = Lifetime.objects.filter(cluster=cluster).exclude(held=[])
            wait_for(lambda: not holding.exclude(phase="").exists())
            pods = PodRun.objects.filter(cluster=cluster, namespace=scene.name)
            wait_for(lambda: not pods.exists())
            time.sleep(2 * EVERY)
        assert not gauges.failures
        assert observer.poll() is None, processes.log("observer")[-2000:]
    found = facts_of(cluster, gauges, scene)
    compare(cluster, gauges, held(cluster, gauges))
    compare_facts(found, gauges)
    judge(cluster, gauges, play)


def perform(play: Play, gauges: Gauges, minutes: float) -> None:
    until = time.monotonic() + minutes * 60
    while time.monotonic() < until and not gauges.failures:
        play.act()
        time.sleep(play.dice.uniform(0.3, 2.0))


def away(play: Play, gauges: Gauges, processes, cluster):
    """Kill the observer, let the play go on without it, and start another one."""
    gauges.observer = 0
    processes.kill("observer")
    perform(play, gauges, KILL / 60)
    observer = processes.observer(cluster.slug, name="again")
    gauges.observer = observer.pid
    return observer


def facts_of(cluster, gauges: Gauges, scene: Scene) -> dict[str, int]:
    """Count the hours as the service does; return the sums of what is stored."""
    first, last = gauges.samples[0][1], gauges.samples[-1][1]
    whole = Span(hour_of(instant(first)), hour_of(instant(last)) + HOUR)
    over = moment(whole.ends) + timedelta(minutes=10)
    for span in hourly.parts(whole, now=over):
        hourly.count(cluster=cluster, span=span, now=over)
    rows = TenantHour.objects.filter(cluster=cluster, flavor=f"{scene.name}-plain", resource=GPU)
    names = ("held", "held_least", "held_most", "admitted", "running", "terminating", "unmanaged")
    facts = rows.aggregate(**{name: Sum(name) for name in names})
    control = sum(gauges.integral().values())
    off = facts["held"] - control
    say(
        f"facts of {rows.count()} hours: held {facts['held']} ({facts['held_least']} to "
        f"{facts['held_most']}), gauge {control:.0f}, {off / control:+.3%} apart; admitted "
        f"{facts['admitted']}, running {facts['running']}, terminating {facts['terminating']}, "
        f"unmanaged {facts['unmanaged']}; {PodInterval.objects.filter(cluster=cluster).count()} "
        "times of pods"
    )
    return facts


def compare_facts(facts: dict[str, int], gauges: Gauges) -> None:
    control = sum(gauges.integral().values())
    off = facts["held"] - control
    allowed = APART * control
    if KILL:
        # What came and went while nobody listened is in no sum; the bounds say how much may be.
        allowed += max(facts["held_most"] - facts["held"], facts["held"] - facts["held_least"])
    assert abs(off) <= allowed
    assert 0 < facts["running"] <= facts["admitted"] + allowed
    assert facts["unmanaged"] <= allowed


def slices(cluster, gauges: Gauges) -> list[Slice]:
    """Return what the ledger has as holding, for the time of the samples."""
    first, last = gauges.samples[0][1], gauges.samples[-1][1]
    return [each for each in overlapping(cluster.pk, first, last) if each.phase in HOLDING]


def held(cluster, gauges: Gauges) -> dict[str, int]:
    """Return GPU-seconds by queue."""
    total: dict[str, int] = {}
    for each in slices(cluster, gauges):
        total[each.queue] = total.get(each.queue, 0) + devices(each) * each.seconds
    return total


def compare(cluster, gauges: Gauges, ledger: dict[str, int]) -> None:
    control = gauges.integral()
    for queue in sorted(control):
        say(f"{queue}: ledger {ledger.get(queue, 0):.0f}, gauge {control[queue]:.0f} GPU-seconds")
    for each in partings(gauges, slices(cluster, gauges)):
        say(f"  {each}")
    whole, found = sum(control.values()), sum(ledger.values())
    say(f"all: ledger {found:.0f}, gauge {whole:.0f}, {(found - whole) / whole:+.3%} apart")
    assert whole > 0
    assert KILL or abs(found - whole) <= APART * whole


def judge(cluster, gauges: Gauges, play: Play) -> None:
    lives = Lifetime.objects.filter(cluster=cluster)
    rows = Interval.objects.filter(cluster=cluster)
    sizes = [size / 1e6 for _, size in gauges.memory]
    say(
        f"{play.count} jobs, {lives.count()} lives, {rows.count()} intervals, "
        f"{lives.filter(evictions__gt=0).count()} evicted, memory {sizes[0]:.0f} to "
        f"{sizes[-1]:.0f} MB, most {max(sizes):.0f}, slope {gauges.slope():+.1f} MB an hour"
    )
    unknown = list(UnknownText.objects.values_list("example", flat=True))
    assert unknown == []
    assert list(holes(lives, rows)) == []
    assert Gap.objects.filter(cluster=cluster, kind="Workload").exists() == bool(KILL)
    assert Gap.objects.filter(cluster=cluster, kind="Pod").exists() == bool(KILL)
    assert not rows.filter(Q(starts_quality="unknown") | Q(ends_quality="unknown")).exists()
    assert max(sizes) <= PEAK
    # An observer that was started again in between still fills its caches in the second half.
    assert KILL or gauges.slope() <= GROWTH


def holes(lives, rows):
    """Give every life whose intervals do not follow each other without a gap or an overlap."""
    for life in lives:
        spans = list(rows.filter(lifetime=life).order_by("starts", "ends"))
        for before, after in pairwise(spans):
            if before.ends != after.starts:
                yield life.name, before.phase, before.ends, after.phase, after.starts


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201
