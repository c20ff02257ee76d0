"""Reports of people who run queues: the smallest input of each, and the right answer."""

import json
from datetime import UTC, datetime

import pytest

from kube import errors, visibility
from kube.classify import classify
from kube.explain import explain
from kube.queue_order import Ticket, places
from kube.quota_tree import QuotaTree
from tests.kube.waiting import (
    GPU,
    admitted,
    cluster_queue,
    condition,
    entry,
    flavors,
    for_pod_set,
    line,
    short,
    used,
    waits,
    workload,
)


def job(name, minute, wants, gpus):
    """A job that selects one model of machine."""
    resources = {"requests": {GPU: str(gpus)}}
    spec = {"containers": [{"resources": resources}], "nodeSelector": {"model": wants}}
    pods = [{"name": "main", "count": 1, "template": {"spec": spec}}]
    made = workload(name=name, pods=pods)
    made["metadata"]["creationTimestamp"] = f"2026-11-29T09:{minute:02}:00Z"
    return made


def test_in_a_strict_queue_a_job_for_a_free_model_waits_behind_one_for_a_full_model():
    """One order for the whole queue, not for each flavor: 40 free devices help nobody."""
    queue = cluster_queue(
        "q", flavors(a=line(40), b=line(16)), status=used(a=0, b=16) | {"pendingWorkloads": 3},
        queueingStrategy="StrictFIFO",
    )  # fmt: skip
    first, second, third = job("j1", 0, "b", 8), job("j2", 1, "a", 8), job("j3", 2, "a", 2)
    said = for_pod_set(short(8, "b"), "flavor a doesn't match node affinity")
    first["status"] = waits(said)["status"]
    line_ = {"cluster_queue": queue, "others": [first, second, third]}
    found = explain(second, **line_)
    assert (found.code, found.stage, found.never) == ("behind_head", "order", False)
    assert found.params == {"ahead": "1"}
    assert "j1" not in str(found.as_json())
    assert explain(third, **line_).params == {"ahead": "2"}
    # Without the others the queue's own count tells as much.
    assert explain(second, cluster_queue=queue).code == "behind_head"
    # In a queue that lets others pass, no condition means something else.
    easy = queue | {"spec": queue["spec"] | {"queueingStrategy": "BestEffortFIFO"}}
    assert explain(second, cluster_queue=easy, others=[first]).code == "not_looked_at"


def test_a_finished_job_is_finished_though_it_shows_no_admission():
    done = condition("Finished", "True", "Succeeded")
    bare = workload(done, condition("Admitted", "False"), admission=None)
    kept = admitted(done)
    for each in (bare, kept):
        found = explain(each)
        assert (found.state, found.code, found.never) == ("finished", "succeeded", False)


def test_a_job_for_an_entry_that_its_namespace_does_not_have():
    """Twelve hours of waiting, half the devices idle: it is not a matter of quota."""
    astray = workload(spec={"queueName": "default"})
    for known in ({"entries": ["team-training"]}, {"entries": ["team-training"], "events": []}):
        found = explain(astray, **known)
        assert (found.code, found.stage) == ("entry_missing", "routing")
        assert found.params["entries"] == "team-training"
    said = waits(
        "LocalQueue default doesn't exist", reason="Misconfigured", spec={"queueName": "default"}
    )
    assert explain(said).code == "entry_missing"


def test_a_job_that_writes_only_limits_asks_for_its_limits():
    limits = {GPU: 4, "cpu": "8", "memory": "64Gi"}
    pods = [
        {"name": "main", "template": {"spec": {"containers": [{"resources": {"limits": limits}}]}}}
    ]
    found = explain(waits(for_pod_set(short(1)), pods=pods))
    assert (found.first.asked, found.first.free, found.first.missing) == (4, 3, 1)
    # The text by which older releases sent such jobs round for ever is told as what it is.
    raced = explain(waits("Workload no longer fits after processing another workload", pods=pods))
    assert (raced.code, raced.first.oscillating, raced.never) == ("lost_the_race", True, False)


class Server:
    """Answers the one call that the list of positions needs, from a queue of that many jobs."""

    def __init__(self, jobs=0, refusal=None):
        self.jobs, self.refusal, self.asked = jobs, refusal, []

    def raw(self, path, query=()):
        wanted = {key: int(value) for key, value in query}
        self.asked.append(wanted)
        if self.refusal is not None:
            raise self.refusal
        names = range(
            wanted["offset"], min(self.jobs, wanted["offset"] + min(wanted["limit"], 1000))
        )
        return {
            "items": [
                {"metadata": {"namespace": "n", "name": f"j{number}"}, "localQueueName": "e"}
                for number in names
            ]
        }


def test_positions_count_from_one_and_go_on_behind_the_first_thousand():
    """The list begins at 0 and holds 1,000 at most: the job at 1203 is 1204 of 1500."""
    server = Server(jobs=1500)
    found = visibility.pending(server, "cq-a", limit=2000)
    assert (len(found.items), found.complete) == (1500, True)
    assert found.items[1203].position + 1 == 1204
    assert [each["limit"] for each in server.asked] == [1000, 1000]
    short = visibility.pending(server, "cq-a", limit=1000)
    assert not short.complete
    own = [ticket(f"u{number}") for number in range(1500)]
    numbers = {place.uid: place.position for place in places(own)}
    assert (numbers["u0"], numbers["u1203"]) == (1, 1204)


def ticket(uid):
    return Ticket(uid, ("n", "e"), 0, datetime(2026, 11, 29, tzinfo=UTC))


def test_a_404_has_two_meanings_and_neither_is_an_error_of_the_job():
    """The list may not be served at all, or not know the queue: reasons are told all the same."""
    bare = classify(404, {}, b"404 page not found")
    message = 'clusterqueue.visibility.kueue.x-k8s.io "cq-x" not found'
    status = {"kind": "Status", "reason": "NotFound", "code": 404, "message": message}
    named = classify(404, {}, json.dumps(status).encode())
    with pytest.raises(errors.NotVisible) as nobody:
        visibility.pending(Server(refusal=bare), "cq-x")
    assert not nobody.value.retry
    with pytest.raises(errors.NotFound):
        visibility.pending(Server(refusal=named), "cq-x")
    job_ = waits(for_pod_set(short(4)))
    around = {"local_queue": entry(), "cluster_queue": cluster_queue("q", flavors(a100=line(8)))}
    found = explain(job_, **around)
    assert (found.code, found.state) == ("quota_short", "waiting")


def test_quota_that_is_lowered_under_running_work_may_be_taken_back():
    """1 promised, 3 in use, and the other queue of 4 takes back what it needs: up to 2."""
    lender = cluster_queue(
        "b", flavors(a100=line(4)), "co", status=used(a100=0),
        preemption={"reclaimWithinCohort": "Any"},
    )  # fmt: skip
    borrower = cluster_queue("a", flavors(a100=line(1)), "co", status=used(a100=3))
    tree = QuotaTree([borrower, lender])
    assignment = {"count": 1, "flavors": {GPU: "a100"}, "resourceUsage": {GPU: "3"}}
    running = admitted(admission={"podSetAssignments": [assignment]})
    found = explain(running, cluster_queue=borrower, tree=tree)
    assert (found.state, [each.code for each in found.reasons]) == (
        "running",
        ["running", "may_be_reclaimed"],
    )
    assert found.reasons[1].params == {"borrowed": "2", "at_risk": "2"}
    assert tree.available("b", ("a100", GPU))[0] == 2


def test_a_text_about_another_tenant_stays_raw_and_out_of_the_facts():
    """What is read from a text never holds a name or path of who took the place."""
    text = (
        "Preempted to accommodate a workload (UID: 1f, JobUID: 2c) due to reclamation within the "
        "cohort; preemptor path: /all/b-secret; preemptee path: /all/a"
    )
    found = explain(waits(text))
    assert found.code == "preempted"
    assert "secret" not in str([reason.params for reason in found.reasons])
