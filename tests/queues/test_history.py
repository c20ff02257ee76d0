"""What a job and a tenant have lost: to whom, why, at what cost; never another tenant's names."""

import dataclasses
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from queues import history_texts as texts
from queues.models import ConditionChange, Eviction, Lifetime, Workload
from queues.selectors.history import job_history
from queues.selectors.losses import tenant_history
from queues.services.intervals import Change, note
from tenants.models import Priority, Tenant
from tests.kube.kueue_life import START, Life

pytestmark = pytest.mark.django_db
SECRET = "b-secret-7f3a"


class Town:
    """Jobs of several teams on one cluster, noted as they go."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.now = START
        self.lives = {}

    def job(self, name, namespace="nlp", priority="normal-batch"):
        life = Life()
        meta = life.body["metadata"]
        meta |= {"name": f"job-{name}", "namespace": namespace, "uid": f"uid-{name}"}
        meta["creationTimestamp"] = self.now.strftime("%Y-%m-%dT%H:%M:%SZ")
        meta["ownerReferences"][0] |= {"name": name, "uid": f"j-{name}"}
        life.body["spec"]["priorityClassRef"] = {"name": priority}
        life.now = self.now
        self.lives[name] = life
        return self.do(name)

    def wait(self, **more):
        self.now += timedelta(**more)

    def do(self, name, *actions, by=""):
        life = self.lives[name]
        for action in actions:
            life.now = self.now
            getattr(life, action)()
            if by and action == "evict":
                self._preempted_by(life, by)
        self._note(name)
        return self

    def start(self, name):
        return self.do(name, "reserve", "admit")

    def stop(self, name, by):
        return self.do(name, "evict", by=by).do(name, "release")

    def row(self, name):
        life, meta = self.lives[name], self.lives[name].body["metadata"]
        return Workload(
            cluster=self.cluster, uid=meta["uid"], namespace=meta["namespace"], name=meta["name"],
            job_uid=meta["ownerReferences"][0]["uid"], state="waiting", created_at=life.now,
        )  # fmt: skip

    def _preempted_by(self, life, by):
        for kind in ("Evicted", "Preempted"):
            found = life._find(kind)
            message = found["message"].replace(f"u-{life.evictions}", f"uid-{by}")
            found["message"] = message.replace("/lab/other", f"/{SECRET}/{by}")

    def _note(self, name):
        body = self.lives[name].look()
        change = Change(body["metadata"]["uid"], body, queue="nlp-train", cohort="research")
        note(self.cluster, [change], self.now)


@pytest.fixture
def town(lab):
    return Town(lab.cluster)


def of(*tenants):
    return Tenant.objects.filter(pk__in=[each.pk for each in tenants])


def told(town, name, *tenants):
    return job_history(town.row(name), of(*tenants), now=town.now)


def everything(history):
    """Everything that a page could show of it."""
    return repr(dataclasses.asdict(history)) + " ".join(
        [texts.loss(x) for x in history.losses]
        + [texts.link(x) for x in history.chain]
        + [texts.took(history)]
    )


def displaced(town, taker="cv"):
    """A job of nlp runs for two hours and loses its place to a job of cv."""
    town.job("mine")
    town.wait(minutes=10)
    town.start("mine")
    town.wait(hours=2)
    town.job(f"{SECRET}-boss", taker)
    town.stop("mine", f"{SECRET}-boss")
    town.start(f"{SECRET}-boss")
    return town


def test_tells_phases_waits_and_what_was_held(town, lab):
    displaced(town).wait(minutes=30)
    found = told(town, "mine", lab.nlp)
    assert [(x.phase, x.seconds) for x in found.stretches] == [
        ("queued", 600), ("admitted", 7200), ("evicted", 1800),
    ]  # fmt: skip
    assert (found.waited, found.waiting, found.longest_wait) == (2400, 1800, 1800)
    assert (found.admitted, found.held_seconds) == (7200, 7200 * 8)
    assert (found.requeues, found.lost_seconds) == (1, 7200 * 8)
    assert found.stretches[-1].ends is None


def test_another_team_that_took_the_place_has_no_name(town, lab):
    displaced(town)
    found = told(town, "mine", lab.nlp)
    assert texts.loss(found.losses[0]) == (
        "Was stopped for a job of another team: a more urgent job of the same queue needed it. "
        "16 GPU-hours of work are lost, all since its start: no checkpoint is known."
    )
    assert SECRET not in everything(found)


def test_an_own_job_that_took_the_place_is_named(town, lab):
    displaced(town, taker="nlp")
    found = told(town, "mine", lab.nlp)
    assert f"for the job “{SECRET}-boss”:" in texts.loss(found.losses[0])
    assert texts.link(found.chain[0]).startswith(f"“{SECRET}-boss” took the place of “mine”")


def test_who_reads_all_tenants_reads_the_name(town, lab):
    displaced(town)
    found = job_history(town.row("mine"), Tenant.objects.all(), sees_all=True, now=town.now)
    assert found.losses[0].by == f"{SECRET}-boss"


def test_the_one_that_took_the_place_knows_whose_it_was(town, lab):
    displaced(town)
    other = told(town, f"{SECRET}-boss", lab.cv)
    assert (other.took_own, other.took_others) == ((), 1)
    assert texts.took(other) == "Took the place of 1 job of another team."
    own = told(town, f"{SECRET}-boss", lab.cv, lab.nlp)
    assert texts.took(own) == "Took the place of “mine”."


def test_the_chain_goes_on_with_who_took_the_place_of_the_taker(town, lab):
    displaced(town).wait(hours=1)
    town.job("king", "nlp")
    town.stop(f"{SECRET}-boss", "king")
    found = told(town, "mine", lab.nlp)
    assert [(x.victim, x.taker) for x in found.chain] == [("mine", ""), ("", "king")]
    assert SECRET not in everything(found)


def test_an_earlier_loss_of_the_taker_is_not_part_of_the_chain(town, lab):
    town.job("boss", "nlp").start("boss")
    town.wait(hours=1)
    town.job("old", "nlp").stop("boss", "old")
    town.job("mine").start("mine")
    town.wait(hours=1)
    town.stop("mine", "boss")
    assert [(x.victim, x.taker) for x in told(town, "mine", lab.nlp).chain] == [("mine", "boss")]


def test_two_that_stop_each_other_are_a_chain_with_an_end(town, lab):
    town.job("a").job("b").start("a")
    for _ in range(8):
        town.wait(minutes=10)
        town.stop("a", "b").start("b")
        town.wait(minutes=10)
        town.stop("b", "a").start("a")
    found = told(town, "a", lab.nlp)
    assert len(found.losses) == 8
    assert len(found.chain) == 16
    assert found.thrashes


@pytest.mark.parametrize(("bears", "alarm"), [(None, True), (4, False), (3, True)])
def test_too_many_stops_in_a_day_are_an_alarm_by_the_contract(town, lab, bears, alarm):
    Priority.objects.filter(name="normal-batch").update(preemptions_per_day=bears)
    town.job("a").job("b")
    for _ in range(3):
        town.start("a").wait(minutes=10)
        town.stop("a", "b")
    found = told(town, "a", lab.nlp)
    assert found.thrashes == alarm
    assert bool(tenant_history(of(lab.nlp), now=town.now).thrashing) == alarm
    town.wait(hours=30)
    assert not told(town, "a", lab.nlp).thrashes


@pytest.mark.parametrize(("bears", "alarm"), [(None, False), (2, True), (20, False)])
def test_a_wait_beyond_the_contract_is_an_alarm(town, lab, bears, alarm):
    Priority.objects.filter(name="normal-batch").update(longest_wait_hours=bears)
    town.job("a").wait(hours=5)
    found = told(town, "a", lab.nlp)
    assert (found.waiting, found.starves) == (5 * 3600, alarm)
    history = tenant_history(of(lab.nlp), now=town.now)
    assert [x.job.job_name for x in history.starving] == ["a"] * alarm
    assert [(x.priority, x.jobs, x.longest) for x in history.waiting] == [
        ("normal-batch", 1, 5 * 3600)
    ]


def test_a_priority_with_a_short_bound_is_found_behind_many_that_wait_longer(town, lab):
    Priority.objects.filter(name="boss-urgent").update(longest_wait_hours=1)
    for n in range(30):
        town.job(f"old-{n}")
    town.wait(hours=3)
    town.job("urgent", priority="boss-urgent").wait(hours=2)
    found = tenant_history(of(lab.nlp), now=town.now).starving
    assert [x.job.job_name for x in found] == ["urgent"]
    assert texts.starving(found[0]) == "urgent: Waits for 2 h; its priority bears 1 h."


def test_a_tenant_sees_the_sum_of_its_losses_by_cause(town, lab):
    displaced(town)
    town.start("mine").wait(hours=1)
    town.do("mine", "switch_off", "release")
    history = tenant_history(of(lab.nlp), now=town.now)
    assert [(x.cause, x.evictions, x.lost_seconds) for x in history.causes] == [
        ("preempted_in_queue", 1, 57_600), ("deactivated", 1, 28_800),
    ]  # fmt: skip
    assert (history.evictions, history.lost_seconds) == (2, 86_400)
    assert [texts.recent(x) for x in history.recent] == [
        "mine lost its place: it was switched off.",
        "mine lost its place to a job of another team: a more urgent job of the same queue needed "
        "it.",
    ]
    assert SECRET not in repr(history.recent)
    assert tenant_history(of(lab.cv), now=town.now).evictions == 0


def test_old_losses_are_not_in_the_week(town, lab):
    displaced(town).wait(days=8)
    assert tenant_history(of(lab.nlp), now=town.now).evictions == 0
    assert told(town, "mine", lab.nlp).lost_seconds > 0


def test_a_job_that_got_another_workload_keeps_its_history(town, lab):
    """Kueue deletes the Workload of a job whose size changed, and makes one of the same name."""
    displaced(town)
    body = town.lives["mine"].look()
    note(town.cluster, [Change("uid-mine", body, gone=True)], town.now)
    again = Life()
    meta = again.body["metadata"]
    meta |= {"uid": "uid-mine-2", "namespace": "nlp", "name": "job-mine"}
    meta["ownerReferences"][0] |= {"name": "mine", "uid": "j-mine"}
    note(town.cluster, [Change("uid-mine-2", again.look(), queue="nlp-train")], town.now)
    row = town.row("mine")
    row.uid = "uid-mine-2"
    found = job_history(row, of(lab.nlp), now=town.now)
    assert len(found.losses) == 1
    assert Lifetime.objects.filter(job_uid="j-mine").count() == 2


def test_the_time_line_has_every_change_in_its_order(town, lab):
    displaced(town)
    lines = told(town, "mine", lab.nlp).lines
    flips = [(x.status, x.exact) for x in lines if x.type == "QuotaReserved"]
    assert flips == [("True", True), ("False", True)]
    assert [x.at for x in lines] == sorted(x.at for x in lines)


def test_a_job_that_nobody_has_noted_has_an_empty_history(lab):
    row = Workload(cluster=lab.cluster, uid="x", namespace="nlp", job_uid="")
    found = job_history(row, of(lab.nlp))
    assert (found.stretches, found.thrashes, found.starves) == ((), False, False)


@pytest.mark.parametrize("rounds", [1, 6])
def test_the_number_of_queries_does_not_grow(town, lab, rounds):
    town.job("a").job("b").start("a")
    for _ in range(rounds):
        town.wait(minutes=10)
        town.stop("a", "b").start("b")
        town.wait(minutes=10)
        town.stop("b", "a").start("a")
    with CaptureQueriesContext(connection) as one:
        told(town, "a", lab.nlp)
    town.wait(days=2)
    with CaptureQueriesContext(connection) as many:
        tenant_history(of(lab.nlp), now=town.now)
    assert (len(one), len(many)) == (1, 7)


def test_every_cause_and_phase_has_words():
    from kube.evictions import Cause
    from queues.models import Phase

    assert {str(each) for each in Cause} == set(map(str, texts.CAUSES))
    assert set(Phase.values) == set(map(str, texts.PHASES))
    assert texts.cause("never heard of") == "nobody saw why"


def test_losses_never_show_what_the_cluster_wrote(town, lab):
    """The text names uids and paths of others; it is kept, and not shown."""
    displaced(town)
    row = Eviction.objects.get()
    assert SECRET in row.message
    assert SECRET in row.preemptor_path
    found = told(town, "mine", lab.nlp)
    assert SECRET not in everything(found)
    assert "uid-" not in everything(found)
    kept = [x.message for x in found.lines if x.type == "Evicted"]
    assert kept[-1] == (
        "Preempted to accommodate a workload due to prioritization in the ClusterQueue"
    )
    platform = job_history(town.row("mine"), Tenant.objects.all(), sees_all=True)
    assert any(SECRET in x.message for x in platform.lines)


def test_a_text_that_changes_alone_stands_where_it_was_seen(town, lab):
    """Kueue keeps the time of a condition while its text counts down: 6, 2, 8, 4 more needed."""
    town.job("mine")
    life = Lifetime.objects.get(job_name="mine")
    flipped = town.now
    for minute, missing in enumerate((6, 2, 8, 4)):
        ConditionChange.objects.create(
            lifetime=life, type="QuotaReserved", status="False", reason="Pending", at=flipped,
            seen_at=flipped + timedelta(minutes=minute), message=f"{missing} more needed",
        )  # fmt: skip
    lines = [x for x in told(town, "mine", lab.nlp).lines if "more needed" in x.message]

    assert [x.message[0] for x in lines] == ["6", "2", "8", "4"]
    assert [x.exact for x in lines] == [True, False, False, False]
    assert [x.at - flipped for x in lines] == [timedelta(minutes=n) for n in range(4)]
