"""Every reason that an explanation can give has words, and something that helps or ends it."""

import re

import pytest

from kube.quota_tree import Bound
from kube.reason_codes import CODES
from kube.reasons import FreedBy
from queues import kueue_words, reason_texts, sentences
from queues.models import Workload
from queues.reading.steps import ADMIN, BY_ITSELF
from queues.sentences import Viewer

X = "\N{MULTIPLICATION SIGN}"
OVER = frozenset({"succeeded", "failed", "ended", "out_of_sync", "failed_to_start", "replaced",
                  "owner_gone", "deleted", "running"})  # fmt: skip


def job(code, **params):
    named = {"resource": "nvidia.com/gpu", "flavor": "a100"} | params
    return Workload(
        cluster_id=1, queue="q", state="waiting", devices=8, code=code, params=named, held=[]
    )


def said(code, **params):
    return re.sub("<[^>]*>", "", str(sentences.reason(job(code, **params))))


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_has_a_sentence(code):
    assert code in reason_texts.TEXTS
    assert said(code).endswith(".")


@pytest.mark.parametrize("code", sorted(set(CODES) - OVER))
def test_every_code_has_a_next_step(code):
    """Something that its people can do, somebody to ask, or what ends it by itself."""
    known = CODES[code]
    asks = known.freed_by is FreedBy.ADMIN and bool(str(ADMIN))
    ends = str(known.freed_by) in BY_ITSELF and not known.never
    assert code in reason_texts.HELP or asks or ends


@pytest.mark.parametrize("code", sorted(set(CODES) - OVER))
def test_who_must_change_something_is_told_what(code):
    if CODES[code].freed_by in (FreedBy.OWNER, FreedBy.QUOTA):
        assert code in reason_texts.HELP


def test_no_words_without_a_code():
    assert set(reason_texts.TEXTS) == set(CODES)
    assert set(reason_texts.HELP) <= set(CODES)


@pytest.mark.parametrize("key", sorted(reason_texts.VARIANTS))
def test_variants_are_of_known_codes_and_bounds(key):
    code, _, kind = key.partition(":")
    assert code in CODES
    assert kind in {str(bound) for bound in Bound} | {"other", "none", "one"}
    assert "{" not in str(reason_texts.VARIANTS[key][-1])


@pytest.mark.parametrize(
    ("bound", "alone", "known"),
    [
        ("own_quota", "4 more must become free.", "12 of 16 in its queue are held, 4 more must become free."),
        (
            "cohort", "not enough is left to borrow, and 4 more must become free.",
            "12 of 16 in its queue are held, and not enough is left to borrow; 4 more must become free.",
        ),
        (
            "borrowing_limit", "its queue may borrow no more, and 4 more must become free.",
            "12 of 16 in its queue are held, and it may borrow no more; 4 more must become free.",
        ),
        (
            "cohort_limit", "its department may borrow no more, and 4 more must become free.",
            "its department may borrow no more, and 4 more must become free.",
        ),
    ],
)  # fmt: skip
def test_what_bounds_the_quota_is_said(bound, alone, known):
    """What is held now is read for the viewer: what stood in the explanation is older."""
    old = {"missing": "4", "held_own": "99", "held_others": "98", "bound": bound}
    assert said("quota_short", **old) == f"Needs 8 {X} a100: {alone}"
    viewer = Viewer(quotas={(1, "q", "a100", "nvidia.com/gpu"): (12, 16)})
    text = str(sentences.reason(job("quota_short", **old), viewer))
    assert re.sub("<[^>]*>", "", text) == f"Needs 8 {X} a100: {known}"


@pytest.mark.parametrize(
    ("code", "bound", "text"),
    [
        ("max_capacity", "own_quota", f"Asks for 8 {X} a100, but its queue can never have more than 4 at once."),
        ("max_borrowing", "borrowing_limit", f"Asks for 8 {X} a100: with all that it may borrow, its queue can never have more than 4 at once."),
        ("max_cohort", "cohort", f"Asks for 8 {X} a100: all that its department can give its queue is 4."),
        ("max_cohort", "lending_limit", f"Asks for 8 {X} a100: with all that the other queues lend, its queue can never have more than 4 at once."),
        ("max_cohort", "cohort_limit", f"Asks for 8 {X} a100: with all that its department may borrow, its queue can never have more than 4 at once."),
    ],
)  # fmt: skip
def test_the_limit_is_told_from_the_end_of_the_department(code, bound, text):
    assert said(code, bound=bound, capacity="4") == text


def test_a_queue_without_quota_of_its_own_is_not_counted():
    viewer = Viewer(quotas={(1, "q", "a100", "nvidia.com/gpu"): (0, 0)})
    text = str(sentences.reason(job("quota_short", missing="2", bound="cohort"), viewer))

    assert re.sub("<[^>]*>", "", text) == (
        f"Needs 8 {X} a100: its queue has no quota of its own, and not enough is left to borrow; "
        "2 more must become free."
    )


@pytest.mark.parametrize(
    ("taint", "text"),
    [
        ("dedicated vision NoSchedule <nil>", "dedicated=vision:NoSchedule"),
        ("dedicated NoExecute <nil>", "dedicated:NoExecute"),
        ("dedicated: vision", "dedicated: vision"),
        ("<nil>", "<nil>"),
    ],
)
def test_a_taint_is_written_as_people_write_it(taint, text):
    assert kueue_words.taint(taint) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('Invalid value: ["cpu"]: requests must not be above the limitRange max', "more cpu"),
        (
            'Invalid value: ["cpu", "memory"]: requests must not be below the limitRange min',
            "less cpu, memory",
        ),
        ("something new", "more or less"),
    ],
)
def test_a_limit_range_says_of_what_and_in_which_direction(text, words):
    assert f"Asks for {words} than" in said("limit_range", field="containers[0]", text=text)


def test_one_is_not_told_as_several():
    assert said("behind_head", ahead="1").startswith("One job is before it")
    assert said("behind_head", ahead="2").startswith("2 jobs are before it")
    assert said("topology_too_small", parts="1") == "No machine has room for its pod."
    assert said("topology_too_small", parts="3").startswith("There is quota, but none of 3 pods")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('resource "nvidia.com/gpu": 4', "4 have too little nvidia.com/gpu free for it"),
        (
            'affinity: 1, nodeSelector: 2, taint "gpu=x:NoSchedule": 1',
            "1 do not match its node affinity, 2 do not match its node selector, "
            "1 carry the taint gpu=x:NoSchedule",
        ),
        ("topologyDomain: 3", "3 stand in another part of the topology"),
    ],
)
def test_why_machines_take_no_pod_is_told_in_words(text, words):
    found = said("topology_too_small", parts="1", nodes="4", excluded=text)
    assert found == f"None of 4 machines has room for its pod: {words}."


def test_what_nobody_can_read_of_machines_is_left_out():
    found = said("topology_too_small", parts="1", nodes="4", excluded="something new: 4")
    assert found == "No machine has room for its pod."


def test_memory_and_cpu_are_told_in_their_units():
    memory = {"resource": "memory", "capacity": "8Gi", "total": "32Gi"}
    assert said("max_capacity", **memory) == (
        "Asks for 32 GiB of the memory of the flavor a100; its queue can never have more than 8 GiB."
    )
    cpu = {"resource": "cpu", "missing": "1500m", "over": "2500", "bound": "cohort"}
    assert said("quota_short", **cpu) == (
        "1.5 CPU more of the CPU of the flavor a100 must become free. The queue holds 2.5 CPU more than "
        "it may by now."
    )


def test_what_has_changed_since_is_said_behind():
    assert said("quota_short", missing="12", over="4").endswith(
        "The queue holds 4 more than it may by now."
    )
    until = "2026-11-29T14:02:00+00:00"
    assert "It has time until" in said("pods_starting", deadline=until)


@pytest.mark.parametrize("nonsense", ["lots", "-4", "", "8Gi", "{asked}"])
def test_an_amount_that_is_no_number_is_not_said(nonsense):
    text = said("quota_short", missing="4", over=nonsense)
    assert text == f"Needs 8 {X} a100: 4 more must become free."


def test_who_is_stopped_to_make_room_is_a_number_if_it_is_known():
    making = job("overlapping_preemption")
    making.preempting = True
    assert str(sentences.reason(making)).endswith("Jobs are being stopped to make room.")
