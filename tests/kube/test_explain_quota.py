"""Numbers of quota: what is asked, free and missing, what bounds it, and what would be enough."""

import pytest

from kube.explain import FreedBy, explain
from kube.quota_tree import QuotaTree
from tests.kube.waiting import (
    GPU,
    cluster_queue,
    cohort,
    flavors,
    for_pod_set,
    line,
    pod_set,
    short,
    too_much,
    used,
    waits,
    workload,
)

GI = 1 << 30


def mine(nominal=8, held=4, **limits):
    return cluster_queue("q", flavors(a100=line(nominal, **limits)), status=used(a100=held))


def mine_in(cohort_name, nominal=8, held=4, **limits):
    groups = flavors(a100=line(nominal, **limits))
    return cluster_queue("q", groups, cohort_name, status=used(a100=held))


def other(name, nominal, held=0, **limits):
    groups = flavors(a100=line(nominal, **limits))
    return cluster_queue(name, groups, "co", status=used(a100=held))


def numbers(found):
    first = found.first
    return first.code, first.asked, first.free, first.missing


# --- quota in use -----------------------------------------------------------------------------------


def test_asked_free_and_missing():
    found = explain(waits(for_pod_set(short(2)), pods=[pod_set(gpus=6)]), cluster_queue=mine())
    assert numbers(found) == ("quota_short", 6, 4, 2)
    assert (found.first.freed_by, found.params["held_own"]) == (FreedBy.OWN_QUEUE, "4")


def test_all_pods_are_counted_and_limits_where_nothing_is_requested():
    """A container with only limits asks for its limits."""
    limits = {GPU: "4", "cpu": "8", "memory": "64Gi"}
    template = {"spec": {"containers": [{"resources": {"limits": limits}}]}}
    pods = [{"name": "main", "count": 2, "template": template}]
    text = for_pod_set(short(3), short(6, resource="cpu"), short("32Gi", resource="memory"))
    found = explain(waits(text, pods=pods))
    told = {reason.resource: (reason.asked, reason.free) for reason in found.reasons}
    assert told == {
        GPU: (8, 5), "cpu": (16_000, 10_000), "memory": (128 * GI, 96 * GI),
    }  # fmt: skip


def test_what_kueue_has_counted_goes_before_what_the_templates_say():
    counted = [{"name": "main", "resources": {GPU: "12"}}]
    found = explain(waits(for_pod_set(short(2)), pods=[pod_set(gpus=1)], resourceRequests=counted))
    assert found.first.asked == 12


def test_earlier_pod_sets_are_added_as_the_scheduler_does():
    text = "; ".join([for_pod_set(short(1), name="head"), for_pod_set(short(5), name="worker")])
    found = explain(waits(text, pods=[pod_set("head", gpus=2), pod_set("worker", 2, gpus=2)]))
    told = {reason.pod_set: (reason.asked, reason.free) for reason in found.reasons}
    assert told == {"head": (2, 1), "worker": (6, 1)}


def test_a_pod_set_that_is_not_there_has_no_size():
    found = explain(waits(for_pod_set(short(1), name="gone"), pods=[pod_set(gpus=2)]))
    assert numbers(found) == ("quota_short", None, None, 1)


def test_where_more_is_used_than_there_is_the_text_counts_too_little():
    """Quota 4, used 8, asked 4: the text says 4 more, and 8 must become free."""
    found = explain(
        waits(for_pod_set(short(4)), pods=[pod_set(gpus=4)]), cluster_queue=mine(4, held=8)
    )
    assert numbers(found) == ("quota_short", 4, 0, 8)
    assert found.params["over"] == "4"


@pytest.mark.parametrize(
    ("queues", "bound", "freed_by"),
    [
        ([mine(8, held=8)], "own_quota", FreedBy.OWN_QUEUE),
        ([mine_in("co", 8, held=8), other("b", 8, held=8)], "cohort", FreedBy.COHORT),
        ([mine_in("co", 8, held=16), other("b", 8)], "cohort", FreedBy.OWN_QUEUE),
        (
            [mine_in("co", 8, held=10, borrowing=2), other("b", 8)],
            "borrowing_limit", FreedBy.OWN_QUEUE,
        ),
    ],
    ids=["own", "others", "own-in-cohort", "limit"],
)  # fmt: skip
def test_who_can_free_quota(queues, bound, freed_by):
    """In a department it is the others, unless the own queue holds it all or its limit is reached."""
    found = explain(
        waits(for_pod_set(short(4)), pods=[pod_set(gpus=4)]),
        cluster_queue=queues[0], cluster_queues=queues, cohorts=[],
    )  # fmt: skip
    assert (found.params["bound"], found.first.freed_by) == (bound, freed_by)


@pytest.mark.parametrize(
    ("queue", "bound", "freed_by"),
    [
        (mine_in("co", held=8), "cohort", FreedBy.COHORT),
        (mine_in("co", held=10, borrowing=2), "borrowing_limit", FreedBy.OWN_QUEUE),
        (mine_in("co", held=3, borrowing=2), "cohort", FreedBy.COHORT),
        (cluster_queue("q", flavors(b=line(1)), "co", status=used(b=0)), "cohort", FreedBy.COHORT),
        (cluster_queue("q", flavors(a100=line(1)), "co"), "cohort", FreedBy.COHORT),
    ],
    ids=["used", "at-limit", "below-limit", "flavor-gone", "no-status"],
)
def test_who_can_free_quota_when_the_department_is_not_known(queue, bound, freed_by):
    found = explain(waits(for_pod_set(short(4)), pods=[pod_set(gpus=4)]), cluster_queue=queue)
    assert (found.params["bound"], found.first.freed_by) == (bound, freed_by)


def test_others_are_a_number_without_a_name():
    found = explain(
        waits(for_pod_set(short(4)), pods=[pod_set(gpus=4)]),
        cluster_queue=mine_in("co", 8, held=8),
        cluster_queues=[mine_in("co", 8, held=8), other("b-secret", 8, held=5)], cohorts=[],
    )  # fmt: skip
    assert (found.params["held_others"], found.params["nominal"]) == ("5", "8")
    assert "b-secret" not in str(found.as_json())


# --- more than there can ever be --------------------------------------------------------------------


def ever(queue, *, asked=12, capacity=8, **related):
    pods = [pod_set(gpus=asked)]
    found = explain(
        waits(for_pod_set(too_much(asked, capacity)), pods=pods), cluster_queue=queue, **related
    )
    first = found.first
    change = first.change
    told = change and (change.field, change.before, change.after)
    return first.code, first.params.get("bound"), told


def test_the_end_of_the_own_quota():
    assert ever(mine()) == ("max_capacity", "own_quota", ("nominal", 8, 12))


def test_the_end_of_a_borrowing_limit():
    queue = mine_in("co", 6, borrowing=2)
    limit = ("borrowing_limit", 2, 6)
    assert ever(queue) == ("max_borrowing", "borrowing_limit", limit)
    known = {"cluster_queues": [queue, other("b", 20)], "cohorts": []}
    assert ever(queue, **known) == ("max_borrowing", "borrowing_limit", limit)


def test_a_higher_borrowing_limit_is_no_help_where_nobody_has_so_much():
    queue = mine_in("co", 6, borrowing=2)
    known = {"cluster_queues": [queue, other("b", 4)], "cohorts": []}
    assert ever(queue, **known) == ("max_borrowing", "borrowing_limit", ("nominal", 6, 10))


def test_the_end_of_the_department():
    queue = mine_in("co", 4)
    assert ever(queue) == ("max_cohort", "cohort", ("nominal", 4, 8))
    known = {"cluster_queues": [queue, other("b", 4)], "cohorts": []}
    assert ever(queue, **known) == ("max_cohort", "cohort", ("nominal", 4, 8))


def test_what_others_do_not_lend_is_told():
    queue = mine_in("co", 4)
    known = {"cluster_queues": [queue, other("b", 14, lending=4)], "cohorts": []}
    assert ever(queue, **known) == ("max_cohort", "lending_limit", ("nominal", 4, 8))


def test_the_limit_of_a_department_is_told():
    queue = mine_in("co", 4)
    upper = cluster_queue("u", flavors(a100=line(9)), "top", status=used(a100=0))
    limited = cohort("co", "top", flavors(a100=line(0, borrowing=4)))
    known = {"cluster_queues": [queue, upper], "cohorts": [limited]}
    assert ever(queue, **known) == ("max_cohort", "cohort_limit", ("nominal", 4, 8))


def test_a_flavor_that_is_no_longer_in_the_queue_has_no_line_to_change():
    queue = cluster_queue("q", flavors(b=line(2)))
    assert ever(queue) == ("max_capacity", "own_quota", None)


def test_without_the_queue_nothing_is_told_apart():
    assert ever(None) == ("max_capacity", None, None)


def test_quota_that_was_raised_since_makes_the_text_stale():
    queue = mine(16, held=0)
    found = explain(
        waits(for_pod_set(too_much(12, 8)), pods=[pod_set(gpus=12)]),
        cluster_queue=queue, tree=QuotaTree([queue]),
    )  # fmt: skip
    assert (found.never, found.first.stale, found.code) == (False, True, "max_capacity")


def test_a_job_that_can_never_run_is_told_so_whatever_resource_the_text_names():
    """The text names the first resource that stopped the flavor: here CPUs that will be free."""
    groups = flavors(a100=[line(8), line(100, resource="cpu")])
    queue = cluster_queue("q", groups, status=used(a100={GPU: 0, "cpu": 98}))
    found = explain(
        waits(for_pod_set(short(2, resource="cpu")), pods=[pod_set(gpus=16, cpu=4)]),
        cluster_queue=queue,
    )
    assert (found.code, found.never, found.first.resource) == ("max_capacity", True, GPU)
    assert (found.first.params["capacity"], found.first.raw) == ("8", found.raw)
    assert [reason.code for reason in found.reasons] == ["max_capacity", "quota_short"]


def test_cpu_is_written_as_a_cluster_would():
    groups = flavors(a100=[line(8), line("1500m", resource="cpu")])
    found = explain(
        workload(pods=[pod_set(gpus=1, cpu=4)]), cluster_queue=cluster_queue("q", groups)
    )
    assert found.params["capacity"] == "1500m"


def test_while_others_are_stopped_for_it_a_job_is_not_too_large():
    text = for_pod_set(short(2)) + ". Pending the preemption of 3 workload(s)"
    found = explain(waits(text, pods=[pod_set(gpus=60)]), cluster_queue=mine())
    assert (found.code, found.never, found.preempting) == ("quota_short", False, True)
    assert found.params["preempting"] == "3"


def test_growth_waits_while_the_job_runs_at_its_old_size():
    """Asks for 12 of 8, of which its old self holds 6: it can never grow so far."""
    queue = mine(8, held=6)
    job = waits(for_pod_set(short(4)), pods=[pod_set(3, gpus=4)])
    job["spec"]["podSets"] = [pod_set("main", 3, gpus=4)]
    job["metadata"]["annotations"] = {
        "kueue.x-k8s.io/workload-slice-replacement-for": "team/old",
    }  # fmt: skip
    found = explain(job, cluster_queue=queue)
    assert [reason.code for reason in found.reasons] == [
        "max_capacity", "quota_short", "growth_waits",
    ]  # fmt: skip


# --- a job of which the scheduler has said nothing --------------------------------------------------


def unseen(*pods, **related):
    return explain(workload(pods=list(pods)), **related)


def test_a_flavor_that_is_large_enough_is_enough():
    queue = cluster_queue("q", flavors(a100=line(4), h100=line(16)), status=used(a100=0, h100=0))
    assert unseen(pod_set(gpus=8), cluster_queue=queue).code == "not_looked_at"
    found = unseen(pod_set(gpus=20), cluster_queue=queue)
    assert (found.code, found.first.flavor, found.first.missing) == ("max_capacity", "h100", 4)


def test_pod_sets_share_one_flavor():
    queue = cluster_queue("q", flavors(a100=line(8)), status=used(a100=0))
    pods = [pod_set("head", gpus=4), pod_set("worker", 2, gpus=4)]
    found = unseen(*pods, cluster_queue=queue)
    assert (found.code, found.first.asked, found.first.pod_set) == ("max_capacity", 12, "worker")
    two = cluster_queue("q", flavors(a100=line(8), h100=line(8)), status=used(a100=0, h100=0))
    assert unseen(*pods, cluster_queue=two).code == "not_looked_at"


def test_a_job_that_may_start_smaller_counts_with_its_smallest_size():
    queue = cluster_queue("q", flavors(a100=line(8)), status=used(a100=0))
    assert unseen(pod_set(count=4, gpus=4, minimum=2), cluster_queue=queue).code == "not_looked_at"
    assert unseen(pod_set(count=4, gpus=4, minimum=3), cluster_queue=queue).code == "max_capacity"


def test_an_empty_pod_set_asks_for_nothing():
    queue = cluster_queue("q", flavors(a100=line(8)), status=used(a100=0))
    assert unseen(pod_set(count=0, gpus=4), cluster_queue=queue).code == "not_looked_at"


def test_a_department_that_is_only_partly_known_says_nothing():
    queue = mine_in("co", 4)
    assert unseen(pod_set(gpus=8), cluster_queue=queue).code == "not_looked_at"
    known = {"cluster_queues": [queue, other("b", 2)], "cohorts": []}
    assert unseen(pod_set(gpus=8), cluster_queue=queue, **known).code == "max_cohort"
