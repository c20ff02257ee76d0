"""Whose the devices of pods were: counted, running out after it, or without any quota."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costs.facts import NodeTime, Pods, Pool, Records
from costs.ledger import ledger
from costs.pods import Around, Quota, Seen, pod_times
from costs.steps import Dated
from costs.times import HOUR, Span
from tests.costs.make import A100, DAY

RUN, OUT, FREE = Pods.RUNNING, Pods.TERMINATING, Pods.UNMANAGED
H100 = Pool("h100", A100.resource)


def span(starts, ends):
    return Span(DAY + starts, DAY + ends)


def seen(starts, ends, workload="w", *, asked=False, amount=8, node="n1"):
    return Seen("nlp", workload, node, A100.resource, amount, span(starts, ends), asked)


def quota(starts, ends, *pools, attempt=1, queue="q"):
    return Quota(span(starts, ends), queue, pools or (A100,), attempt)


def around(*quotas, nodes=(), **more):
    known = {
        "queues": {"q": Dated([(0, "nlp")])}, "namespaces": {"nlp": Dated([(0, "nlp")])},
    }  # fmt: skip
    return Around(quotas={("nlp", "w"): quotas}, nodes=nodes, **(known | more))


def told(pods, around):
    """Return (tenant, flavor, kind, starts, ends) of each part."""
    found = pod_times([pods], around)
    return [
        (x.tenant, x.pool.flavor, x.kind, x.span.starts - DAY, x.span.ends - DAY) for x in found
    ]


def test_it_runs_while_its_workload_holds_quota_and_runs_out_after_it():
    """Kueue frees the quota of a job as soon as its pods are asked to end."""
    held = around(quota(100, 500), quota(500, 520))
    assert told(seen(110, 510), held) == [
        ("nlp", "a100", RUN, 110, 500), ("nlp", "a100", RUN, 500, 510),
    ]  # fmt: skip
    assert told(seen(510, 550, asked=True), held) == [
        ("nlp", "a100", RUN, 510, 520), ("nlp", "a100", OUT, 520, 550),
    ]  # fmt: skip
    assert told(seen(600, 700, asked=True), held) == [("nlp", "a100", OUT, 600, 700)]


def test_a_pod_that_ends_late_does_not_run_for_the_next_admission():
    held = around(quota(100, 500), quota(510, 900, attempt=2))
    assert told(seen(495, 600, asked=True), held) == [
        ("nlp", "a100", RUN, 495, 500), ("nlp", "a100", OUT, 500, 600),
    ]  # fmt: skip
    assert told(seen(520, 600), held) == [("nlp", "a100", RUN, 520, 600)]


def test_a_pod_that_is_asked_to_end_before_its_workload_gives_back_a_part_still_runs():
    held = around(quota(100, 500), quota(500, 900))
    assert [part[2] for part in told(seen(450, 600, asked=True), held)] == [RUN, RUN]


def test_a_pod_without_a_workload_never_had_quota():
    assert told(seen(10, 20, ""), around(quota(0, 100))) == [("nlp", "", FREE, 10, 20)]
    assert told(seen(10, 20, "made-up"), around(quota(0, 100))) == [("nlp", "", FREE, 10, 20)]


def test_a_pod_that_runs_before_its_workload_has_quota_bypasses_it():
    assert told(seen(10, 200), around(quota(100, 500))) == [
        ("nlp", "", FREE, 10, 100), ("nlp", "a100", RUN, 100, 200),
    ]  # fmt: skip


def test_a_pod_belongs_to_whom_its_queue_or_its_namespace_belongs_then():
    moved = around(quota(0, 100), queues={"q": Dated([(0, "nlp"), (DAY + 50, "cv")])})
    assert [part[0] for part in told(seen(10, 90), moved)] == ["nlp", "cv"]
    shared = around(namespaces={"nlp": Dated([(0, None), (DAY + 50, "cv")])})
    assert [part[0] for part in told(seen(10, 90, ""), shared)] == ["", "cv"]
    assert [part[0] for part in told(seen(10, 90, ""), around(namespaces={}))] == [""]


def node(starts, ends, kind="ready", pool=A100, name="n1"):
    return NodeTime(name, pool, kind, span(starts, ends), 8)


def test_the_devices_of_a_node_that_is_down_run_nothing():
    nodes = (node(0, 40), node(40, 60, "down"), node(60, 70, "cordoned"))
    assert told(seen(10, 90), around(quota(0, 100), nodes=nodes)) == [
        ("nlp", "a100", RUN, 10, 40), ("nlp", "a100", RUN, 60, 70),
    ]  # fmt: skip


def test_what_was_admitted_says_which_flavor_it_is_and_else_the_node_does():
    nodes = (node(0, 100, pool=H100),)
    assert told(seen(10, 20), around(quota(0, 100), nodes=nodes))[0][1] == "a100"
    assert told(seen(10, 20), around(quota(0, 100, A100, H100), nodes=nodes))[0][1] == "h100"
    assert told(seen(10, 20, ""), around(nodes=nodes))[0][1] == "h100"
    assert told(seen(10, 20, ""), around())[0][1] == ""


# --- any pods, any quotas ---------------------------------------------------------------------------


@st.composite
def situations(draw):
    quotas, at = [], 0
    for attempt in range(draw(st.integers(0, 4))):
        starts = at + draw(st.integers(0, 400))
        at = starts + draw(st.integers(1, 900))
        quotas.append(quota(starts, at, attempt=attempt))
    starts = draw(st.integers(0, 3000))
    pod = seen(
        starts, starts + draw(st.integers(1, 3000)), draw(st.sampled_from(["w", ""])),
        asked=draw(st.booleans()), amount=draw(st.integers(1, 8)),
    )  # fmt: skip
    return pod, quotas


@given(situations())
def test_every_second_of_a_pod_is_of_one_kind(situation):
    pod, quotas = situation
    parts = sorted(pod_times([pod], around(*quotas)), key=lambda each: each.span)
    assert sum(each.span.seconds for each in parts) == pod.span.seconds
    assert all(a.span.ends == b.span.starts for a, b in pairwise(parts))
    assert all(each.amount == pod.amount for each in parts)


@given(situations(), st.integers(1, 3000))
def test_cutting_a_pod_that_was_not_asked_to_end_changes_nothing(situation, at):
    pod, quotas = situation
    pod, cut = pod._replace(asked=False), min(pod.span.starts + at, pod.span.ends)
    halves = [Span(pod.span.starts, cut), Span(cut, pod.span.ends)]

    def sums(pods):
        total = Counter()
        for each in pod_times(pods, around(*quotas)):
            total[each.kind] += each.span.seconds * each.amount
        return +total

    pieces = [pod._replace(span=half) for half in halves if half.seconds > 0]
    assert sums(pieces) == sums([pod])


# --- in the facts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("gap", "left", "known"), [(0, 3600, True), (720, 2880, True), (721, 2879, False)])  # fmt: skip
def test_an_hour_says_how_much_of_it_pods_were_watched(gap, left, known):
    pods = list(pod_times([seen(0, 100)], around(quota(0, 100))))
    gaps = [span(0, gap), span(0, gap // 2)] if gap else []
    (hour,) = ledger(Records(pods=pods, pod_gaps=gaps), Span(DAY, DAY + HOUR))
    (fact,) = hour.facts
    assert (fact.running, fact.pods, fact.pods_known) == (800, left, known)
    assert (fact.coverage, fact.quality) == (HOUR, "observed")
