"""The time line: every change once, and no text twice between two flips."""

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kube import condition_log as log
from kube.lifecycle_facts import read_sight

TEXTS = ("1 more needed", "2 more needed", "no topology fits")


def seen(*conditions, checks=(), **more):
    status = {
        "conditions": [
            {"type": t, "status": s, "reason": r, "message": m, "lastTransitionTime": since}
            for t, s, r, m, since in conditions
        ],
        "admissionChecks": list(checks),
    }
    meta = {"name": "a", "uid": "u", "ownerReferences": [{"kind": "Job", "name": "a"}]}
    return read_sight({"metadata": meta, "spec": {"priority": 5} | more, "status": status})


def waits(message, minute=0, reason="Pending"):
    return ("QuotaReserved", "False", reason, message, f"2026-11-02T09:{minute:02}:00Z")


def follow(*sights):
    """Return the lines that each look adds."""
    known, found = {}, []
    for sight in sights:
        lines, after = log.changes(known, sight)
        known = known if after is None else log.load(json.loads(msgspec.json.encode(after)))
        found.append(lines)
    return known, found


def test_the_first_look_is_told_when_it_is_overwritten():
    known, (first, second) = follow(seen(waits("a")), seen(waits("b")))
    assert first == []
    assert [line.message for line in second] == ["a", "b"]
    assert "QuotaReserved" not in {line.type for line in log.untold(known)}


def test_what_the_first_look_showed_is_not_lost_without_a_change():
    known, _ = follow(seen(waits("a")))
    assert {line.type for line in log.untold(known)} == {"QuotaReserved", "Priority"}


def test_a_flip_is_news_although_the_words_are_the_same():
    _, lines = follow(seen(waits("a")), seen(waits("a", 5)))
    assert [line.at.minute for line in lines[1]] == [0, 5]


def test_texts_that_swap_are_told_once():
    swaps = [seen(waits(TEXTS[n % 2], reason=("Pending", "Other")[n % 2])) for n in range(60)]
    _, lines = follow(*swaps)
    assert [line.message for each in lines for line in each] == [TEXTS[0], TEXTS[1]]


def test_not_every_number_is_told():
    _, lines = follow(*(seen(waits(f"{n} more needed")) for n in range(200)))
    assert len([line for each in lines for line in each]) == log.MOST_TEXTS


def test_a_message_of_a_check_is_kept_although_it_is_gone_a_moment_later():
    def check(state, message):
        return {"name": "scan", "state": state, "message": message}

    _, lines = follow(
        seen(checks=[check("Pending", "")]),
        seen(checks=[check("Rejected", "budget exceeded")]),
        seen(checks=[check("Pending", "Reset to Pending")]),
    )
    assert [line.message for line in lines[1]] == ["", "budget exceeded"]


def test_switching_off_pods_done_and_priority_are_lines_too():
    _, lines = follow(seen(), seen(active=False, priority=9), seen(priority=9))
    assert {(x.type, x.status) for x in lines[1]} == {
        ("Active", "False"), ("Priority", "5"), ("Priority", "9"),
    }  # fmt: skip
    assert [(x.type, x.status) for x in lines[2]] == [("Active", "")]


@given(st.lists(st.tuples(st.sampled_from(TEXTS), st.integers(0, 3)), min_size=1, max_size=30))
def test_the_same_looks_again_add_nothing_and_no_flip_is_missed(rows):
    sights = [seen(waits(message, minute)) for message, minute in rows]
    known, lines = follow(*sights)
    assert log.changes(known, sights[-1]) == ([], None)
    told = [line.at.minute for each in lines for line in each if line.type == "QuotaReserved"]
    flips = [m for n, (_, m) in enumerate(rows) if n == 0 or rows[n - 1][1] != m]
    last = [line.at.minute for line in log.untold(known) if line.type == "QuotaReserved"]
    kept = [m for n, m in enumerate(told + last) if n == 0 or (told + last)[n - 1] != m]
    assert kept == flips
