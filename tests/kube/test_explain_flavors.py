"""Several flavors, pod sets and groups: which reason decides, whatever order they come in."""

import random

from hypothesis import given
from hypothesis import strategies as st

from kube.explain import explain
from tests.kube.waiting import (
    GPU,
    cluster_queue,
    condition,
    entry,
    flavors,
    for_pod_set,
    line,
    pod_set,
    short,
    too_much,
    used,
    waits,
)


def other(name, nominal, held=0, **limits):
    groups = flavors(a100=line(nominal, **limits))
    return cluster_queue(name, groups, "co", status=used(a100=held))


def test_one_feasible_flavor_makes_it_wait():
    text = for_pod_set(short(2), too_much(6, 2, "h100"), "flavor v100 doesn't match node affinity")
    found = explain(waits(text, pods=[pod_set(gpus=6)]))
    assert (found.code, found.never) == ("quota_short", False)
    assert [reason.flavor for reason in found.reasons] == ["a100", "h100", "v100"]


def test_all_flavors_over_their_maximum_make_it_never():
    text = for_pod_set(
        too_much(6, 2, "h100"), too_much(6, 5), "flavor v100 doesn't match node affinity"
    )
    found = explain(waits(text, pods=[pod_set(gpus=6)]))
    assert (found.code, found.never) == ("max_capacity", True)
    assert (found.first.flavor, found.first.missing) == ("a100", 1)


def test_a_place_that_is_too_small_is_milder_than_quota():
    text = for_pod_set('topology "t" allows to fit only 1 out of 2 pod(s)', short(2))
    assert explain(waits(text)).code == "topology_partly"


def test_all_resources_of_a_flavor_are_needed():
    text = for_pod_set(short(2, resource="cpu"), too_much(16, 8), short(1, "h100", "cpu"))
    found = explain(waits(text, pods=[pod_set(gpus=16)]))
    assert (found.code, found.first.flavor) == ("quota_short", "h100")
    alone = explain(waits(for_pod_set(short(2, resource="cpu"), too_much(16, 8))))
    assert (alone.code, alone.never) == ("max_capacity", True)


def test_the_worst_pod_set_decides_and_all_are_listed():
    text = "; ".join(
        [
            for_pod_set(short(1), name="a"), for_pod_set(too_much(9, 4), name="c"),
            for_pod_set('topology "t" allows to fit only 1 out of 2 pod(s)', name="b"),
        ]
    )  # fmt: skip
    found = explain(waits(text))
    assert [reason.pod_set for reason in found.reasons] == ["c", "a", "b"]
    assert found.never


def test_groups_of_resources_are_all_needed():
    text = for_pod_set("flavor gpu doesn't match node affinity", short(2, "plain", "cpu"))
    groups = [{"flavors": [{"name": "gpu"}]}, {"flavors": [{"name": "plain"}]}]
    found = explain(waits(text), cluster_queue=cluster_queue("q", groups))
    assert (found.code, found.never) == ("selector_mismatch", True)


def test_devices_come_before_cpu():
    text = for_pod_set(short(24, resource="cpu"), short(3))
    found = explain(waits(text))
    assert [(each.resource, each.missing) for each in found.reasons] == [(GPU, 3), ("cpu", 24_000)]


# --- the order of things says nothing ---------------------------------------------------------------


PARTS = [
    short(2), too_much(6, 2, "h100"), "flavor v100 doesn't match node affinity",
    "untolerated taint {spot true NoSchedule <nil>} in flavor spot", short(5, "h100", "cpu"),
    'topology "t" allows to fit only 1 out of 2 pod(s)', too_much("2k", "1k", "a100", "cpu"),
]  # fmt: skip


@given(
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=5, unique=True),
    st.lists(st.sampled_from(PARTS), min_size=0, max_size=3, unique=True),
    st.integers(),
)
def test_order_of_flavors_pod_sets_and_conditions_says_nothing(one, two, seed):
    mixed = random.Random(seed)  # noqa: S311 - a shuffle
    pods = [pod_set("head", gpus=2, cpu=1), pod_set("worker", 2, gpus=2, cpu=4)]
    more = [
        condition("PodsReady", "False", "WaitForStart"), condition("Requeued", "True", "Preempted"),
        condition("Evicted", "True", "Preempted", "gone"), condition("Preempted", "True", "InClusterQueue"),
    ]  # fmt: skip
    queue = cluster_queue(
        "q", flavors(a100=line(4), h100=line(2), v100=line(1), spot=line(8)), "co"
    )
    queues = [queue, other("b", 3, held=1), other("c", 5, lending=1)]

    def told():
        texts = [for_pod_set(*one, name="head")] + (
            [for_pod_set(*two, name="worker")] if two else []
        )
        mixed.shuffle(texts)
        job = waits("; ".join(texts), *more, pods=pods)
        mixed.shuffle(job["status"]["conditions"])
        mixed.shuffle(queue["spec"]["resourceGroups"][0]["flavors"])
        found = explain(
            job, cluster_queue=queue, cluster_queues=queues, cohorts=[], local_queue=entry()
        ).as_json()
        return [each | {"raw": ""} for each in found["reasons"]], found["state"]

    first = told()
    for each in (one, two, more, queues):
        mixed.shuffle(each)
    assert told() == first
