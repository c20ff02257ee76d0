"""Records give back what they were told, whole or as much as a queue's order looks at."""

from hypothesis import given
from hypothesis import strategies as st

from kube.line_facts import Line
from kube.workload_facts import WorkloadFacts
from queues.services.records import Records
from tests.kube import recorded
from tests.queues.clusterside import condition, pod_set, short, workload

SPECS = st.fixed_dictionaries(
    {"priority": st.sampled_from([0, 100])},
    optional={"active": st.booleans(), "podSets": st.sampled_from([[pod_set(1)], [pod_set(2)], 7])},
)
SAID = st.lists(
    st.sampled_from([
        short(), short(9), condition("Evicted", "True", "PodsReadyTimeout"),
        condition("Requeued", "False", "Inadmissible"), "odd",
    ]),
    max_size=3,
)  # fmt: skip
STATUS = st.fixed_dictionaries(
    {"conditions": SAID},
    optional={
        "requeueState": st.sampled_from([{"requeueAt": "2026-11-29T12:00:00Z"}, 3]),
        "resourceRequests": st.just([{"name": "main", "resources": {"nvidia.com/gpu": "1"}}]),
    },
)
ITEMS = st.lists(st.tuples(SPECS, STATUS), min_size=1, max_size=4)


def told(found):
    return [workload(f"w{n}", spec=spec, **status) for n, (spec, status) in enumerate(found)]


@given(ITEMS)
def test_a_line_of_brief_records_says_what_a_line_of_whole_ones_says(found):
    records = Records()
    kept = [records.learn(item)[1] for item in told(found)]
    brief = Line([records.in_line(each) for each in kept])
    whole = Line([records.unpack(each) for each in kept])
    for each in kept:
        facts = WorkloadFacts.read(records.unpack(each))
        assert brief.said_of_equal(facts) == whole.said_of_equal(facts)
        assert brief.count_ahead(facts) == whole.count_ahead(facts)
        assert brief.preemptor_ahead(facts) == whole.preemptor_ahead(facts)


def test_equal_specs_are_looked_through_once():
    records = Records()
    one, other, third = (
        records.learn(workload(name, spec={"podSets": [pod_set(size)]}))[1]
        for name, size in (("a", 1), ("b", 1), ("c", 2))
    )
    assert records.asked(one) is records.asked(other)
    assert (records.asked(one).devices, records.asked(third).devices) == (1, 2)


def test_a_workload_comes_back_as_it_was():
    for release, name in recorded.names()[:20]:
        item = recorded.workload(name, release)
        records = Records()
        _, record = records.learn(item)
        assert records.unpack(record) == item
