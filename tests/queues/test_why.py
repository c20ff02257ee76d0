"""Why a job waits, put together once: the same facts and words for a page, the API, a terminal."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from queues import access, reading
from queues.models import Stream, Workload
from queues.reading import bare, text_of
from queues.reading.said import notes
from queues.selectors.pools import left, pool_rows
from queues.selectors.together import together
from queues.services import capacity
from tenants import access as rights
from tenants.models import Pool
from tenants.services.catalog import commit_revision, head
from tests import cast
from tests.cast import MARK
from tests.query_counts import counted
from tests.queues import seen

X = "\N{MULTIPLICATION SIGN}"


@pytest.fixture
def full(lab):
    """The language team waits behind itself and behind a job of the vision team."""
    seen.lab(lab.cluster)
    seen.workload(
        lab.cluster, "first", position=1, devices=4, priority=2000, priority_class="boss-urgent"
    )
    seen.workload(lab.cluster, MARK, namespace="cv", position=2, devices=16)
    seen.workload(lab.cluster, "train-1", position=3, priority_class="normal-batch")
    return lab


def why(who, name="train-1", namespace="nlp"):
    sight = access.sight(who) if who else access.everything()
    return reading.why(sight, access.job(sight, namespace, name, "lab"))


def run(*arguments):
    out = StringIO()
    call_command("why", *arguments, stdout=out)
    return out.getvalue()


# --- the assembly ---------------------------------------------------------------------------------


def test_says_the_sentence_the_stage_and_the_numbers(full):
    found = why(full.bob)

    assert bare(found.shown.reason) == (
        f"Needs 8 {X} a100: 24 of 16 in its queue are held, 8 more must become free."
    )
    assert [(rung.stage, rung.state) for rung in found.ladder] == [
        ("routing", "done"), ("request", "done"), ("order", "done"), ("quota", "now"),
        ("check", "todo"), ("topology", "todo"), ("pods", "todo"),
    ]  # fmt: skip
    (reason,) = found.reasons
    assert (reason.asked, reason.free, reason.missing, reason.unit) == (8, 0, 8, "devices")
    assert [line.line.flavor for line in found.lines if line.is_device] == ["a100"]


def test_counts_what_is_ahead_and_names_nobody(full):
    ahead = why(full.bob).ahead

    assert (ahead.jobs, ahead.devices) == (2, 20)
    assert [(each.value, each.name, each.jobs, each.devices) for each in ahead.by_priority] == [
        (2000, "boss-urgent", 1, 4),
        (1000, "", 1, 16),
    ]
    assert MARK not in text_of(why(full.bob))


def test_place_that_is_not_known_is_not_guessed(full):
    Workload.objects.filter(job_name="train-1").update(position=None)

    assert why(full.bob).ahead is None


def test_several_reasons_are_all_told_the_deciding_one_first(full):
    job = access.job(access.everything(), "nlp", "train-1", "lab")
    job.reasons = [
        {"stage": "quota", "code": "quota_short", "never": False, "resource": "nvidia.com/gpu",
         "flavor": "a100", "asked": 8, "free": 0, "missing": 8, "freed_by": "own_queue",
         "params": {"missing": "8"}, "raw": "insufficient unused quota"},
        {"stage": "request", "code": "untolerated_taint", "never": True, "flavor": "h100",
         "params": {"taint": "dedicated"}, "raw": f"cv/{MARK} has it"},
    ]  # fmt: skip
    found = reading.why(access.sight(full.bob), job)

    assert [(each.code, each.never, each.flavor) for each in found.reasons] == [
        ("quota_short", False, "a100"),
        ("untolerated_taint", True, "h100"),
    ]
    assert "the taint dedicated" in bare(found.reasons[1].text)
    assert "untolerated_taint" in [step.code for step in found.steps]
    assert MARK not in text_of(found) + repr(found.reasons)
    assert "    Machines of the flavor h100 carry the taint dedicated" in text_of(found)


@pytest.mark.parametrize(
    ("state", "stage", "rungs"),
    [("running", "", {"done"}), ("finished", "pods", {"done"}), ("deactivated", "", set())],
)
def test_ladder_of_what_does_not_wait(full, state, stage, rungs):
    Workload.objects.filter(job_name="train-1").update(state=state, stage=stage, code="running")

    assert {rung.state for rung in why(full.bob).ladder} == rungs


# --- what would help ------------------------------------------------------------------------------


def test_a_lead_can_ask_for_what_is_missing_with_the_numbers_filled_in(full, client):
    (step,) = (each for each in why(full.alice).steps if each.code == "ask_quota")
    client.force_login(full.alice)
    form = client.get(step.url).content.decode()

    assert step.text == "Ask for more quota: 24 GPUs of a100 instead of 16."
    assert 'name="nlp-train/a100/nominal" value="24"' in form


def test_a_member_is_sent_to_the_lead(full):
    assert [step.code for step in why(full.bob).steps] == ["ask_lead"]


@pytest.mark.parametrize(
    ("agreed", "text"),
    [
        (24, "All GPUs of a100 are promised: there is no more quota of it to ask for."),
        (20, "All GPUs of a100 are promised: there is no more quota of it to ask for."),
        (25, "More quota of a100 needs 8 GPUs, and one is not promised yet."),
        (31, "More quota of a100 needs 8 GPUs, and 7 are not promised yet."),
    ],
)
@pytest.mark.parametrize("who", ["alice", "bob"])
def test_what_nobody_could_approve_is_not_offered(full, who, agreed, text):
    Pool.objects.update(capacity=agreed)
    found = why(getattr(full, who))
    (step,) = (each for each in found.steps if each.code == "pool_full")

    assert not {"ask_quota", "ask_lead"} & {each.code for each in found.steps}
    assert step.text.startswith(text)
    assert step.text.endswith("another queue must give some back, or machines come.")
    assert step.url == "/clusters/lab/"
    assert step.text in text_of(found)


def test_more_to_borrow_may_be_asked_for_though_all_is_promised(full):
    Pool.objects.update(capacity=24)
    job = access.job(access.everything(), "nlp", "train-1", "lab")
    change = {
        "kind": "ClusterQueue", "queue": "nlp-train", "flavor": "a100",
        "resource": "nvidia.com/gpu", "field": "borrowing_limit", "from": 4, "to": 8,
    }  # fmt: skip
    job.reasons = [
        {"stage": "quota", "code": "max_borrowing", "never": True, "resource": "nvidia.com/gpu",
         "flavor": "a100", "asked": 24, "free": 20, "missing": 4, "freed_by": "quota",
         "change": change},
    ]  # fmt: skip
    found = reading.why(access.sight(full.alice), job)

    assert "ask_quota" in [each.code for each in found.steps]


def node(cluster, name, labels, **more):
    body = {"labels": labels, "allocatable": {"nvidia.com/gpu": "8"}, "ready": True}
    seen.observed(cluster, "Node", name, body | {"unschedulable": False} | more)


@pytest.mark.parametrize("agreed", [32, None])
@pytest.mark.parametrize("labels", [(("gpu-lab.io/model", "a100"),), ()])
@pytest.mark.parametrize("nodes", [0, 4])
@pytest.mark.parametrize("department", [0, 3])
def test_what_is_left_to_promise_is_what_a_decision_counts_with(
    lab, agreed, labels, nodes, department
):
    catalog = cast.catalog()
    flavor = replace(catalog.flavors[0], capacity=agreed, node_labels=labels)
    own = (replace(cast.lines(department)[2], borrowing_limit=None),) if department else ()
    cohorts = (replace(catalog.cohorts[0], quotas=own), *catalog.cohorts[1:])
    catalog = replace(catalog, flavors=(flavor, *catalog.flavors[1:]), cohorts=cohorts)
    commit_revision(cluster=lab.cluster, catalog=catalog, actor=None, summary="Another")
    for number in range(nodes):
        node(lab.cluster, f"n{number}", {"gpu-lab.io/model": "a100", "more": "x"})
    if nodes:
        node(lab.cluster, "broken", {"gpu-lab.io/model": "a100"}, ready=False)
        node(lab.cluster, "closed", {"gpu-lab.io/model": "a100"}, unschedulable=True)
        node(lab.cluster, "other", {"gpu-lab.io/model": "h100"})
    (row,) = capacity.facts(lab.cluster, head(lab.cluster))
    found = left(together(pools=pool_rows(lab.cluster.pk))["pools"])

    assert found.get(("a100", "nvidia.com/gpu")) == row["free"]


def told_apart(found):
    return [note.text for note in notes(found) if "The text of the cluster is as of" in note.text]


def apart(full, missing, held, **more):
    """The text says what is missing; the queue, which may not borrow, holds so much of 16 now."""
    queue = seen.ObservedObject.objects.get(kind="ClusterQueue", name="nlp-train")
    queue.body = seen.queue_body(16, held, borrowingLimit=0)
    queue.observed_at = datetime(2026, 11, 29, 12, 30, tzinfo=UTC)
    queue.save()
    reason = {
        "stage": "quota", "code": "quota_short", "never": False, "resource": "nvidia.com/gpu",
        "flavor": "a100", "asked": 8, "free": max(0, 8 - missing), "missing": missing,
        "freed_by": "own_queue", "params": {"missing": str(missing)},
    }  # fmt: skip
    at = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
    Workload.objects.filter(job_name="train-1").update(
        reasons=[reason | more], observed_at=at, params={
            "resource": "nvidia.com/gpu", "flavor": "a100", "missing": str(missing),
        },
    )  # fmt: skip
    return why(full.bob)


def test_numbers_of_the_text_and_of_the_queue_that_differ_are_told_with_their_times(full):
    with timezone.override(UTC):
        (said,) = told_apart(apart(full, missing=4, held=14))
    assert said == (
        "The text of the cluster is as of 2026-11-29 12:00:00 UTC: 4 GPUs of a100 missing. The "
        "quota of the queue is as of 2026-11-29 12:30:00 UTC: 2 GPUs free, so 6 GPUs missing."
    )
    (said,) = told_apart(found := apart(full, missing=4, held=0))
    assert said.endswith("16 GPUs free, which would be enough.")
    assert said in text_of(found)


@pytest.mark.parametrize(
    ("missing", "held", "more"),
    [(4, 12, {}), (8, 16, {}), (10, 18, {}), (4, 14, {"stale": True}), (4, 14, {"asked": None})],
)
def test_numbers_that_agree_need_no_word(full, missing, held, more):
    assert told_apart(apart(full, missing, held, **more)) == []


def test_a_smaller_job_is_only_offered_when_it_would_start_now(full):
    queue = seen.ObservedObject.objects.get(kind="ClusterQueue", name="nlp-train")
    queue.body = seen.queue_body(16, 13, borrowingLimit=0)
    queue.save()

    assert "Make the job smaller: 3 GPUs are free now." in [
        step.text for step in why(full.bob).steps
    ]


def test_what_runs_needs_no_help(full):
    Workload.objects.filter(job_name="train-1").update(state="running", stage="", code="running")

    assert why(full.bob).steps == ()


# --- who sees what --------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["grace", "heidi", "frank"])
def test_others_find_no_job(full, who):
    with pytest.raises(access.access.Hidden):
        why(getattr(full, who))


def test_a_queue_of_others_has_no_numbers_to_show(full):
    Workload.objects.filter(job_name="train-1").update(queue="cv-train")

    assert (why(full.bob).facts.queue, why(full.bob).lines) == (None, ())


@pytest.mark.parametrize("number", [1, 30])
def test_queries_do_not_grow(full, number):
    for each in range(number):
        seen.workload(full.cluster, f"more-{each}", position=10 + each)
    # As on a page: who asks is read once.
    with rights.one_reading(), counted("queues: why, put together"):
        sight = access.sight(full.bob)
        reading.why(sight, access.job(sight, "nlp", "train-1", "lab"))


# --- which job is meant ---------------------------------------------------------------------------


def test_a_job_is_found_by_its_workload_too(full):
    assert why(full.bob, "job-train-1-0a1b2").job.job_name == "train-1"


def test_of_several_the_one_that_is_not_over_is_meant(full):
    at = timezone.now()
    seen.workload(full.cluster, "again", uid="1", job_name="j", state="finished", created_at=at)
    seen.workload(full.cluster, "twice", uid="2", job_name="j", created_at=at - timedelta(days=1))
    seen.workload(full.cluster, "third", uid="3", job_name="j", created_at=at - timedelta(days=2))

    assert why(full.bob, "j").job.uid == "2"


# --- the command ----------------------------------------------------------------------------------


def ageless(text):
    return re.sub(r"Seen \d+ s ago", "Seen a moment ago", text)


def test_command_prints_the_same_text(full):
    said = run("nlp/train-1", "--as", "bob")

    assert ageless(said) == ageless(text_of(why(full.bob)))
    assert said.startswith("Job train-1 in nlp, cluster lab\nWaiting (41 min), 8 GPUs, place 3")
    assert "> Quota            waits here: whether enough of the quota is free" in said
    assert "Asked 8 GPUs, Free 0 GPUs, Missing 8 GPUs" in said
    assert "a100: 24 of 16 held, 8 borrowed" in said
    assert "2 jobs are ahead and ask for 20 GPUs." in said
    assert "  priority boss-urgent: 1 job, 4 GPUs\n" in said
    assert "ahead of it: nlp/first" in said
    assert "What would help\n  - Let a lead of your tenant ask for more quota: 24 GPUs" in said
    assert MARK not in said


SEVERAL = [
    {"stage": "quota", "code": "max_cohort", "never": True, "resource": "nvidia.com/gpu", "flavor": "a100",
     "asked": 64, "free": 32, "missing": 32, "freed_by": "quota", "params": {"capacity": "32"}, "stale": True,
     "raw": "exceeds the department", "pod_set": "workers"},
    {"stage": "request", "code": "untolerated_taint", "never": True, "flavor": "h100",
     "params": {"taint": "dedicated"}, "freed_by": "owner"},
]  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {}, {"reasons": SEVERAL, "code": "max_cohort", "never": True}, {"preempting": True}, {"position": None},
        {"state": "stopping", "code": "preempted", "stage": "quota"}, {"code": "check_pending", "stage": "check"},
        {"state": "running", "code": "running", "stage": "", "held": [{"flavor": "a100", "resource": "nvidia.com/gpu", "amount": 8}]},
    ],
)  # fmt: skip
def test_page_and_terminal_say_the_same(full, client, change):
    """Whatever the page says in words is printed, and the page is where the words come from."""
    Workload.objects.filter(job_name="train-1").update(**change)
    client.force_login(full.bob)
    answer = client.get("/c/lab/jobs/nlp/train-1/")
    page, printed = answer.context, run("nlp/train-1", "--as", "bob")
    words = re.sub(r"\s+", " ", bare(answer.content.decode()))
    told = [
        bare(page["why"].shown.reason),
        *(note.text for note in page["notes"]),
        *page["told"].values(),
    ]
    told += [step.text for step, _main in page["steps"]] + page["words"]
    for rung in page["rungs"]:
        told += [rung.label, rung.note]
        told += [text for each in rung.reasons for text in (bare(each.reason.text), *each.parts)]
    figures = [f"{label} {amount}" for _key, label, amount in page["figures"]]

    assert [text for text in figures if text not in printed] == []
    assert len(told) > 5
    assert [text for text in told if text not in printed] == []
    assert [text for text in told if text not in words] == []


def test_command_answers_whoever_sits_at_the_machine(full):
    assert MARK in run(f"cv/{MARK}")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nlp/nothing"], 3), ([f"cv/{MARK}", "--as", "bob"], 3), (["nlp/train-1", "--as", "heidi"], 3),
        (["nlp"], 1), (["nlp/"], 1), (["nlp/train-1", "--as", "nobody"], 1),
        (["nlp/train-1", "--cluster", "nowhere"], 1), (["nlp/a\0b"], 3),
    ],
)  # fmt: skip
def test_command_says_by_its_exit_code_what_was_wrong(full, arguments, code):
    with pytest.raises(CommandError) as refused:
        run(*arguments)

    assert refused.value.returncode == code


def test_command_asks_for_the_cluster_where_several_have_the_job(full):
    other = full.cluster.__class__.objects.create(slug="edge", display_name="Edge")
    seen.workload(other, "train-1", uid="other")

    with pytest.raises(CommandError, match="choose one: edge, lab") as refused:
        run("nlp/train-1")

    assert refused.value.returncode == 4
    assert "cluster edge" in run_old("nlp/train-1", "--cluster", "edge")


def run_old(*arguments):
    """Run the command for a cluster that was not heard: it answers, and ends with a code."""
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("why", *arguments, stdout=out)
    assert ended.value.code == 5
    return out.getvalue()


@pytest.mark.parametrize(
    "change", [{"alive_at": None}, {"lost_since": timezone.now() - timedelta(minutes=5)}]
)
def test_command_tells_that_the_answer_may_be_old(full, change):
    Stream.objects.update(**change)

    assert "cluster was never heard" in (said := run_old("nlp/train-1")) or "lost since" in said
