"""What was read before gives the answers that reading anew gives."""

import copy

from hypothesis import given
from hypothesis import strategies as st

from kube import explain_order
from kube.asked import Asked
from kube.explain import explain
from kube.line_facts import Line
from kube.queue_facts import QueueFacts
from kube.quota_tree import QuotaTree
from kube.workload_facts import WorkloadFacts
from tests.kube import recorded
from tests.kube.waiting import (
    cluster_queue,
    entry,
    flavors,
    for_pod_set,
    line,
    pod_set,
    short,
    too_much,
    waits,
    workload,
)

NAMES = recorded.names()


def read_before(item, spec=None):
    return WorkloadFacts.read(item, Asked.read(item.get("spec") if spec is None else spec))


@given(st.sampled_from(NAMES))
def test_an_explanation_is_the_same_for_what_was_read_before(key):
    release, name = key
    item, around = recorded.workload(name, release), recorded.related(name, release)
    assert explain(read_before(item), **around) == explain(item, **around)


@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4), st.booleans())
def test_a_line_is_the_same_for_those_that_were_read_before(keys, strict):
    items = [copy.deepcopy(recorded.workload(name, release)) for release, name in keys]
    for number, item in enumerate(items):
        item["metadata"]["uid"] = f"uid-{number}"
    anew, before = Line(items, strict=strict), Line(map(read_before, items), strict=strict)
    for item in items:
        facts = WorkloadFacts.read(item)
        assert before.said_of_equal(facts) == anew.said_of_equal(facts)
        assert before.count_ahead(facts) == anew.count_ahead(facts)
        assert before.preemptor_ahead(facts) == anew.preemptor_ahead(facts)


def test_what_kueue_has_counted_goes_before_what_was_known_of_the_spec():
    counted = [{"name": "main", "resources": {"nvidia.com/gpu": "3"}}]
    item = workload(pods=[pod_set(gpus=8)], resourceRequests=counted)
    (found,) = read_before(item).pod_sets
    assert found.requests == {"nvidia.com/gpu": 3}
    assert read_before(item).shape == WorkloadFacts.read(item).shape


def test_equal_specs_of_another_size_are_not_equal():
    small, large = (waits("no", pods=[pod_set(gpus=size)]) for size in (1, 2))
    assert read_before(small).shape != read_before(large).shape


SIZES = st.tuples(st.integers(1, 9), st.integers(1, 3), st.none() | st.integers(1, 2))


@given(st.lists(SIZES, min_size=1, max_size=6), st.integers(1, 6), st.none() | st.integers(0, 4))
def test_an_answer_that_equal_jobs_share_is_the_one_that_each_would_get(sizes, nominal, borrowing):
    queue = QueueFacts(
        cluster_queue(groups=flavors(a100=line(nominal, borrowing), h100=line(2)), cohort="c")
    )
    other = cluster_queue("other", groups=flavors(a100=line(3), h100=line(1)), cohort="c")
    shared = QuotaTree([queue, other])
    texts = ("no", "couldn't assign flavors to pod set main: " + short(4))
    for number, (gpus, count, minimum) in enumerate(sizes * 2):
        pods = [pod_set(gpus=gpus, count=count, minimum=minimum)]
        item = waits(texts[number % 2], pods=pods, name=f"w{number}")
        found = explain(read_before(item), cluster_queue=queue, tree=shared)
        assert found == explain(item, cluster_queue=queue, tree=QuotaTree([queue, other]))
    assert shared.answers


SAID = st.sampled_from([
    for_pod_set(short(4)), for_pod_set(too_much(9, 4), short(2, flavor="h100")),
    for_pod_set(short(1)) + ". Pending the preemption of 2 workload(s)",
    for_pod_set("flavor h100 not found"), "ClusterQueue q is inactive", "LocalQueue entry is stopped",
    "resources didn't satisfy LimitRange constraints: x: too much", "words of a later release",
])  # fmt: skip


@given(
    st.lists(
        st.tuples(SAID, st.integers(1, 9), st.integers(0, 59), st.booleans(), st.booleans()),
        min_size=2, max_size=12,
    )
)  # fmt: skip
def test_what_a_text_tells_equal_jobs_is_what_it_tells_each(given_):
    queue = QueueFacts(cluster_queue(groups=flavors(a100=line(6), h100=line(2))))
    shared = QuotaTree([queue])
    for text, gpus, minute, limited, known in given_:
        item = waits(text, pods=[pod_set(gpus=gpus)])
        item["status"]["conditions"][0]["lastTransitionTime"] = f"2026-11-29T10:{minute:02}:00Z"
        around = {
            "cluster_queue": queue, "local_queue": entry(),
            "limit_ranges": [{}] if limited else [],
            "flavors": [{"metadata": {"name": "h100"}}] if known else [],
        }  # fmt: skip
        found = explain(read_before(item), tree=shared, **around)
        assert found == explain(item, tree=QuotaTree([queue]), **around)


def test_equal_jobs_with_equal_texts_are_told_one_answer_with_their_own_times():
    queue = QueueFacts(cluster_queue(groups=flavors(a100=line(6))))
    tree = QuotaTree([queue])
    found = []
    for minute in (5, 6):
        item = waits(for_pod_set(short(4)), pods=[pod_set(gpus=4)])
        item["status"]["conditions"][0]["lastTransitionTime"] = f"2026-11-29T10:0{minute}:00Z"
        found.append(explain(read_before(item), cluster_queue=queue, tree=tree))
    assert len(tree.told) == 1
    assert [each.since.minute for each in found] == [5, 6]


def test_answers_that_are_shared_are_forgotten_before_they_are_too_many(monkeypatch):
    monkeypatch.setattr(explain_order, "SHARED", 2)
    queue = QueueFacts(cluster_queue(groups=flavors(a100=line(9))))
    tree = QuotaTree([queue])
    kept = []
    for gpus in range(1, 6):
        item = waits(for_pod_set(short(gpus)), pods=[pod_set(gpus=gpus)])
        assert explain(read_before(item), cluster_queue=queue, tree=tree) == explain(
            item, cluster_queue=queue, tree=QuotaTree([queue])
        )
        kept.append(len(tree.told))
    assert kept == [1, 2, 1, 2, 1]


def test_a_property_that_is_worked_out_once_is_found_on_its_class_too():
    assert vars(QueueFacts)["name"] is QueueFacts.name
