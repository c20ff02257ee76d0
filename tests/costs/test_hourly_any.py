"""Whatever happens in a cluster: an hour that was counted in its time is the same ever after."""

from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from costs.checks import broken
from costs.ledger import ledger
from costs.models import Run
from costs.services import hourly
from costs.times import HOUR, Span, instant
from tenants.models import Cluster
from tests.costs.watched import HOUR as BEGIN
from tests.costs.watched import Watched, after

pytestmark = pytest.mark.django_db
NUMBER = count()
JOBS = ("a", "b", "c")
QUEUES = ("nlp-train", "cv-train")
SETTLED = 10  # minutes
#: The story ends before the real time begins.
LONGEST = 9 * 60


class Story:
    """A cluster in which the next thing happens, and whose hours are counted in their time."""

    def __init__(self, watched):
        self.watched, self.minute, self.counted = watched, 0, []
        self.flips = {name: {} for name in JOBS}
        self.lists()

    def lists(self):
        w = self.watched
        w.begin(
            after(-30), ClusterQueue=[w.queue("nlp-train", 8), w.queue("cv-train", 8)],
            Cohort=[w.cohort("research", 2)], ResourceFlavor=[w.flavor()],
            Node=[w.node("n1"), w.node("n2")],
        )  # fmt: skip

    def go_on(self, minutes):
        """Let time pass; hours that have settled are counted."""
        ends = min(self.minute + minutes, LONGEST)
        while len(self.counted) < (ends - SETTLED) // 60:
            n = len(self.counted)
            self.watched.alive(after(60 * n + 60 + SETTLED))
            self.counted.append(self.count(n))
        self.minute = ends

    def count(self, n):
        starts = instant(BEGIN) + n * HOUR
        return hourly.count(cluster=self.watched.cluster, span=Span(starts, starts + HOUR)).result

    def tell(self, kind, item, change="MODIFIED"):
        self.watched.tell(after(self.minute), kind, item, change=change)

    def job(self, name, devices, needs, *flips):
        """Flip conditions of a job that is not over; a time changes with its status alone."""
        found = self.flips[name]
        now = {kind: to for kind, to, _ in found.values()}
        # A place is given back before it can be given again.
        drains = RESERVED in now.items() and EVICTED in now.items() and RESERVED in flips
        if drains or now.get("Finished") or any(each not in now.items() for each in needs):
            return
        for kind, to in flips:
            if now.get(kind, "False") != to:
                found[kind] = (kind, to, after(self.minute))
        queue = QUEUES[devices % 2]
        self.tell("Workload", self.watched.job(name, queue, devices, *found.values()))


RESERVED, ADMITTED = ("QuotaReserved", "True"), ("Admitted", "True")
EVICTED = ("Evicted", "True")
LOST = ("QuotaReserved", "False"), ("Admitted", "False")


def reserve(story, n):
    story.job(JOBS[n % 3], n % 3 + 1, (), RESERVED, ("Evicted", "False"))


def start(story, n):
    story.job(JOBS[n % 3], n % 3 + 1, (), RESERVED, ADMITTED, ("Evicted", "False"))


def stop(story, n):
    story.job(JOBS[n % 3], n % 3 + 1, [RESERVED], EVICTED)


def let_go(story, n):
    story.job(JOBS[n % 3], n % 3 + 1, [EVICTED], *LOST)


def finish(story, n):
    story.job(JOBS[n % 3], n % 3 + 1, (), ("Finished", "True"))


def queue(story, n):
    place = ("research", "", "other")[n % 3]
    story.tell("ClusterQueue", story.watched.queue(QUEUES[n % 2], n, cohort=place))


def no_queue(story, n):
    item = story.watched.queue(QUEUES[n % 2], n)
    story.tell("ClusterQueue", item, change="DELETED")


def cohort(story, n):
    item = story.watched.cohort(("research", "other")[n % 2], n, ("", "research", "other")[n % 3])
    story.tell("Cohort", item)


def node(story, n):
    item = story.watched.node(f"n{n % 3}", ready=n % 4 != 0, unschedulable=n % 5 == 0)
    story.tell("Node", item, change="DELETED" if n == 11 else "MODIFIED")


ACTIONS = (reserve, start, stop, let_go, finish, queue, no_queue, cohort, node)
STEPS = st.lists(
    st.tuples(st.integers(1, 50), st.sampled_from(ACTIONS), st.integers(0, 11)),
    min_size=3,
    max_size=14,
)


# A story takes a second: one that fails is read as it is, not tried again for minutes.
@settings(
    max_examples=12, phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(STEPS)
def test_an_hour_that_was_counted_in_its_time_stays(lab, monkeypatch, steps):
    cluster = Cluster.objects.create(slug=f"any-{next(NUMBER)}", display_name="Any")
    story = Story(Watched(cluster, monkeypatch))
    for minutes, action, number in steps:
        story.go_on(minutes)
        action(story, number)
    story.go_on(130)
    story.watched.alive(after(LONGEST + 60))

    again = [story.count(n) for n in range(len(story.counted))]
    assert again == story.counted
    assert Run.objects.filter(cluster=cluster).count() == 2 * len(again)

    span = Span(instant(BEGIN), instant(BEGIN) + len(again) * HOUR)
    if again:
        known = hourly.records(cluster.pk, span, story.watched.now)
        assert [broken(hour) for hour in ledger(known, span)] == [[]] * len(again)
