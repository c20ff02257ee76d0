"""Reasons in words: a sentence for every code, numbers in it, and nothing of other tenants."""

import re
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.reason_codes import CODES
from portal.web.states import STATES
from queues import reason_texts, sentences
from queues.models import Workload
from queues.selectors.queues import Others
from queues.sentences import Viewer

FULL = {
    "resource": "nvidia.com/gpu", "flavor": "a100", "missing": "8", "asked": "16", "capacity": "8",
    "earlier": "0", "entry": "main", "queue": "nlp-train", "check": "provision", "nodes": "gpu-1",
    "node": "gpu-1", "fits": "1", "unit": "pod", "level": "rack", "taint": "spot", "field": "cpu",
    "gates": "a-gate", "original": "h100", "waiting": "1", "pods": "2", "count": "3", "text": "x",
    "problem": "y", "requeue_at": "2026-11-29T14:02:00+00:00", "preempted_because": "priority",
    "why": "prioritization in the ClusterQueue", "preempting": "2", "topology": "racks",
    "message": "m", "open": "1", "excluded": "e", "pod_set": "main",
}  # fmt: skip


def job(code: str = "quota_short", **more) -> Workload:
    values = {
        "cluster_id": 1, "queue": "nlp-train", "state": "waiting", "devices": 8, "code": code,
        "params": {}, "held": [],
    }  # fmt: skip
    return Workload(**(values | more))


@pytest.mark.parametrize("code", sorted(CODES))
@pytest.mark.parametrize("params", [FULL, {}], ids=["full", "bare"])
def test_every_code_has_a_sentence(code, params):
    said = str(sentences.reason(job(code, params=params, raw="as it came")))

    assert code in reason_texts.TEXTS
    assert said.endswith((".", "as it came", "\N{RIGHT DOUBLE QUOTATION MARK}"))
    assert "{" not in said
    assert re.sub("<[^>]*>", "", said)[0] in "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


@pytest.mark.parametrize("code", sorted(reason_texts.TEXTS))
def test_last_template_needs_little(code):
    """A template whose value is missing is skipped, so the last one must stand alone."""
    assert "{" not in str(reason_texts.TEXTS[code][-1])


def test_quota_with_numbers():
    """Held and promised are those of the queue, the missing ones those of the cluster."""
    viewer = Viewer(quotas={(1, "nlp-train", "a100", "nvidia.com/gpu"): (24, 24)})
    params = {"resource": "nvidia.com/gpu", "flavor": "a100", "missing": "8"}

    assert sentences.reason(job(params=params), viewer) == (
        "Needs <b>8 \N{MULTIPLICATION SIGN} a100</b>: <b>24</b> of <b>24</b> in its queue are held, <b>8</b> more must become free."
    )
    assert "<b>8</b> more must become free" in sentences.reason(job(params=params))


def test_cpu_alone_is_said():
    raw = "insufficient unused quota for cpu in flavor a100, 24 more needed"
    params = {"resource": "cpu", "flavor": "a100", "missing": "24"}

    assert sentences.reason(job(params=params, raw=raw)) == (
        "<b>24 CPU</b> more of the <b>CPU</b> of the flavor <b>a100</b> must become free."
    )


@pytest.mark.parametrize(
    ("text", "resource", "expected"),
    [
        ("8", "nvidia.com/gpu", "8"), ("24", "cpu", "24 CPU"), ("500m", "cpu", "0.5 CPU"),
        ("16Gi", "memory", "16 GiB"), ("lots", "memory", "lots"), ("", "cpu", ""),
    ],
)  # fmt: skip
def test_quantities_in_the_units_of_people(text, resource, expected):
    assert sentences.in_units(text, resource) == expected


def test_unknown_text_is_the_clusters_own():
    said = sentences.reason(job("unknown", raw="moon phase is wrong"))

    assert said == "The cluster says: moon phase is wrong"
    assert sentences.reason(job("a_code_of_tomorrow", raw="new words")).endswith("new words")


@pytest.mark.parametrize(
    "hostile", ["<script>alert(1)</script>", "{0.__class__}", "{asked}", "%(n)s", "a\u202eb"]
)
def test_words_of_the_cluster_stay_words(hostile):
    shown = sentences.shown([job("unknown", raw=hostile)], {})[0]

    assert "<script" not in shown.reason
    assert "\u202e" not in shown.reason
    assert "16 \N{MULTIPLICATION SIGN} " not in shown.reason


def test_hostile_parameters_are_escaped():
    params = {"entry": "<img src=x>", "flavor": "{asked}"}

    assert "<img" not in sentences.reason(job("entry_missing", params=params))
    assert "{asked}" in sentences.reason(job("flavor_missing", params=params))


def test_a_job_for_an_entry_that_is_not_there_is_told_what_is():
    params = {"entry": "default", "entries": "nlp-gpu, nlp-infer"}

    said = sentences.reason(job("entry_missing", params=params))

    assert "default" in said
    assert "nlp-gpu, nlp-infer" in said
    alone = sentences.reason(job("entry_missing", params={"entry": "default"}))
    assert "but" not in alone


SECRET = "B-SECRET-7f3a"
RAW = (
    f"Preempted to accommodate a workload (UID: 1234-{SECRET}, JobUID: 99-{SECRET}) due to reclamation "
    f"within the cohort; preemptor path: /research/{SECRET}; preemptee path: /research/nlp-train"
)


def test_raw_text_hides_what_others_own():
    viewer = Viewer(foreign=frozenset({SECRET}))
    waiting = job("preempted", raw=f"{RAW} and {SECRET}.", params={"entry": SECRET})
    shown = sentences.shown([waiting], {}, viewer)[0]

    assert SECRET not in shown.raw
    assert SECRET not in shown.reason
    assert shown.raw.startswith("Preempted to accommodate a workload due to reclamation")


def test_platform_reads_every_word():
    assert SECRET in sentences.cleaned(RAW, Viewer(sees_all=True))


def test_paths_go_and_resources_stay():
    text = "insufficient unused quota for nvidia.com/gpu in flavor a100, see /research/other"

    assert sentences.cleaned(text, Viewer()) == (
        "insufficient unused quota for nvidia.com/gpu in flavor a100, see "
    )


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_text_breaks_a_sentence(raw, value):
    found = job("unknown", raw=raw, params={"flavor": value, "missing": value, "resource": value})

    assert sentences.reason(found)
    found.code = "quota_short"
    assert sentences.reason(found)


STATE_ROWS = [
    ({}, "waiting"),
    ({"never": True}, "cannot_run"),
    ({"never": True, "preempting": True}, "making_room"),
    ({"preempted": True}, "preempted"),
    ({"code": "queue_stopped"}, "on_hold"),
    ({"code": "entry_stopped", "preempted": True}, "on_hold"),
    ({"state": "stopping"}, "being_stopped"),
    ({"state": "starting"}, "starting"),
    ({"state": "running"}, "running"),
    ({"state": "running", "code": "container_starting"}, "starting"),
    ({"state": "deactivated"}, "deactivated"),
    ({"state": "finished", "code": "succeeded"}, "finished"),
    ({"state": "finished", "code": "failed"}, "failed"),
    ({"state": "gone"}, "deleted"),
]


@pytest.mark.parametrize(("facts", "state"), STATE_ROWS)
def test_states_as_people_know_them(facts, state):
    assert sentences.state_of(job(**({"code": "quota_short"} | facts))) == state
    assert state in STATES


def test_preempted_and_making_room_are_added():
    lost = job(preempted=True, params={"preempted_because": "reclaimed"})
    assert sentences.reason(lost).endswith(
        "Was stopped because another queue took back what it had lent."
    )

    room = job(preempting=True, params={"preempting": "3"})
    assert sentences.reason(room).endswith("<b>3</b> jobs are being stopped to make room.")
    assert sentences.reason(job(preempting=True, params={"preempting": "1"})).endswith(
        "One job is being stopped to make room."
    )


def test_running_says_on_what():
    held = [
        {"flavor": "a100", "resource": "cpu", "amount": 64000},
        {"flavor": "a100", "resource": "nvidia.com/gpu", "amount": 8},
    ]
    shown = sentences.shown([job("running", state="running", held=held, raw="long words")], {})[0]

    assert shown.reason == "Runs on <b>8 \N{MULTIPLICATION SIGN} a100</b>."
    assert shown.raw == ""


def test_time_of_the_next_try():
    at = datetime(2026, 11, 29, 14, 2, tzinfo=UTC).isoformat()

    assert "<time" in sentences.reason(job("back_off", params={"requeue_at": at}))
    assert "soon-ish" in sentences.reason(job("back_off", params={"requeue_at": "soon-ish"}))


def test_others_are_a_count():
    one, many = sentences.lines([Others(1, 8, 2, 2), Others(3, 24)], {})

    assert one.text == "1 job that is not shown to you by name, 8 GPUs"
    assert (one.first, one.others) == (2, True)
    assert many.text == "3 jobs that are not shown to you by name, 24 GPUs"
    assert one.stamp != many.stamp


def test_lines_keep_their_order():
    found = sentences.lines([Others(1, 8), job(), Others(2, 8)], {})

    assert [hasattr(each, "job") for each in found] == [False, True, False]


def test_size_without_devices():
    assert sentences.size(SimpleNamespace(devices=0)) == ""
    assert sentences.size(SimpleNamespace(devices=1)) == "1 GPU"


def test_words_that_could_be_names():
    words = sentences.words_of(
        [job(raw="taken by cv/train-7.", params={"entry": "main", "n": "3"})]
    )

    assert {"cv", "train-7", "main", "taken"} <= words


def test_stamp_follows_what_is_shown():
    first = sentences.shown([job()], {})[0]
    assert first.stamp == sentences.shown([job()], {})[0].stamp
    assert first.stamp != sentences.shown([job(position=2)], {})[0].stamp


def test_no_template_holds_markup():
    texts = [str(text) for row in reason_texts.TEXTS.values() for text in row]
    texts += map(str, [*reason_texts.BECAUSE.values(), *reason_texts.HELP.values()])

    assert not [text for text in texts if re.search(r"[<>&]", text)]
    assert set(reason_texts.HELP) <= set(reason_texts.TEXTS)


def test_figures_where_devices_are_short():
    params = {"resource": "nvidia.com/gpu", "flavor": "a100", "missing": "6"}
    shown = sentences.shown([job(params=params, stage="quota")], {})[0]

    assert shown.figures == sentences.Figures(asked=8, free=2, missing=6)
    assert sentences.figures(job(params=params | {"missing": "99999999999"})).free == 0
    assert sentences.figures(job(params=params | {"missing": "6Gi"})) is None
    assert sentences.figures(job(params=params | {"resource": "cpu"})) is None
    assert sentences.figures(job("check_pending", params=params)) is None


def test_waiting_says_for_what():
    words = {
        stage: sentences.shown([job(stage=stage)], {})[0].word
        for stage in ("quota", "check", "routing")
    }

    assert words == {"quota": "Waiting for quota", "check": "Waiting for a check", "routing": ""}
    assert sentences.shown([job(stage="quota", state="running")], {})[0].word == ""


def test_what_a_terminal_obeys_is_shown_as_its_code():
    said = str(sentences.reason(job("unknown", raw="a\x01\x1b[31m b\u202ec\nd")))

    assert "a\\u0001\\u001b[31m b\\u202ec\nd" in said
