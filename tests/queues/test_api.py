"""The API says what pages say: every kind of thing, with its numbers, by right."""

import pytest

from queues.models import Workload
from tests.cast import GIB, MARK
from tests.queues import seen
from tests.queues.api import ask, day_of_both, described, nothing_of_others

JOB = "jobs/{cluster}/{namespace}/{name}/"
QUEUE = "queues/{cluster}/{name}/"
NAME = "job-train-1-0a1b2"


@pytest.fixture
def full(lab):
    day_of_both(lab)
    return lab


@pytest.fixture
def bob(full, client):
    client.force_login(full.bob)
    return client


def names(body):
    return [each["job"] for each in body["items"]]


# --- jobs -----------------------------------------------------------------------------------------


def test_list_of_jobs_says_where_each_one_stands(bob):
    body = ask(bob, "jobs/", "jobs/")
    (job,) = (each for each in body["items"] if each["job"] == "train-1")

    assert (job["cluster"], job["namespace"], job["name"]) == ("lab", "nlp", NAME)
    assert (job["tenant"], job["queue"], job["entry"]) == ("nlp", "nlp-train", "main")
    assert (job["state"], job["stage"], job["code"]) == ("waiting", "quota", "quota_short")
    assert (job["position"], job["devices"], job["priority"]) == (4, 8, "normal-batch")
    assert job["sentence"].startswith("Needs 8 \N{MULTIPLICATION SIGN} a100: 24 of 16")
    assert job["url"] == f"/api/v1/jobs/lab/nlp/{NAME}/"
    assert body["next"] is None


def test_what_a_job_holds_is_told_with_its_unit(bob):
    (job,) = ask(bob, "jobs/", "jobs/", state="running")["items"]

    assert job["held"] == [
        {"flavor": "a100", "resource": "nvidia.com/gpu", "unit": "devices", "amount": 8}
    ]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"state": "finished"}, ["report"]), ({"name": "RAIN-"}, ["train-1", "train-0"]),
        ({"job": "train-1"}, ["train-1"]), ({"job": "train"}, []), ({"tenant": "nlp", "state": "running"}, ["train-0"]),
        ({"cluster": "lab", "uid": "uid-nlp-first"}, ["first"]), ({"cluster": "edge"}, []),
        ({"namespace": "cv"}, []), ({"queue": "cv-train"}, []), ({"priority": "boss-urgent"}, ["first"]),
        ({"sort": "oldest", "size": 2}, ["train-0", "train-1"]), ({"sort": "size", "size": 1}, ["report"]),
        ({"sort": "attention", "size": 2}, ["first", "train-1"]), ({"entry": "main", "state": "running"}, ["train-0"]),
    ],
)  # fmt: skip
def test_list_is_narrowed_and_sorted(bob, query, found):
    assert names(ask(bob, "jobs/", "jobs/", **query)) == found


def test_job_is_found_by_its_own_name_and_by_its_workload(bob):
    by_name = ask(bob, "jobs/lab/nlp/train-1/", JOB)

    assert by_name["job"] == ask(bob, f"jobs/lab/nlp/{NAME}/", JOB)["job"]
    (reason,) = by_name["reasons"]
    assert (reason["asked"], reason["free"], reason["missing"], reason["unit"]) == (
        8,
        0,
        8,
        "devices",
    )
    assert by_name["raw"].startswith("insufficient unused quota for nvidia.com/gpu")


def test_why_has_the_sentence_the_numbers_and_what_would_help(full, bob):
    body = ask(bob, "jobs/lab/nlp/train-1/why/", f"{JOB}why/")

    assert body["sentence"] in body["text"]
    assert [rung["stage"] for rung in body["ladder"] if rung["state"] == "now"] == ["quota"]
    place = body["place"]
    assert (place["position"], place["ahead"]["jobs"], place["ahead"]["devices"]) == (4, 3, 21)
    assert (place["own_jobs"], [each["job"] for each in place["own"]]) == (1, ["first"])
    assert (place["sure"], place["may_pass"]) == ("own", True)
    assert place["ahead"]["by_priority"] == [
        {"priority": "boss-urgent", "priority_value": 2000, "jobs": 1, "devices": 4},
        {"priority": None, "priority_value": 1000, "jobs": 2, "devices": 17},
    ]
    (line,) = (each for each in body["quota"] if each["resource"] == "nvidia.com/gpu")
    assert line["agreed"] == {"nominal": 16, "borrowing_limit": None, "lending_limit": None}
    assert (line["observed"]["held"], line["observed"]["borrowed"], line["unit"]) == (
        24,
        8,
        "devices",
    )
    assert [step["code"] for step in body["next_steps"]] == ["ask_lead"]
    assert MARK not in str(body)


# --- queues ---------------------------------------------------------------------------------------


def test_queue_tells_quota_in_the_smallest_unit(bob):
    queue = ask(bob, "queues/lab/nlp-train/", QUEUE)["queue"]
    lines = {each["resource"]: each for each in queue["quota"]}

    assert {name: (each["unit"], each["agreed"]["nominal"]) for name, each in lines.items()} == {
        "cpu": ("milliCPU", 128_000),
        "memory": ("bytes", 1024 * GIB),
        "nvidia.com/gpu": ("devices", 16),
    }
    assert lines["nvidia.com/gpu"]["observed"]["borrowed"] == 8
    assert queue["entries"] == [{"namespace": "nlp", "name": "main"}]
    assert queue["waiting"] == {"jobs": 4, "devices": 29}
    assert queue["running"] == {"jobs": 1, "devices": 8}
    assert (queue["tenant"], queue["department"], queue["in_cluster"]) == ("nlp", "research", True)


def test_queue_that_the_cluster_does_not_have_says_so(bob):
    seen.ObservedObject.objects.filter(kind="ClusterQueue").delete()
    queue = ask(bob, "queues/lab/nlp-train/", QUEUE)["queue"]

    assert (queue["in_cluster"], queue["in_sync"]) == (False, None)
    assert {each["observed"] for each in queue["quota"]} == {None}


def test_queues_are_listed_by_right(full, client):
    for who, found in (("bob", ["nlp-train"]), ("grace", ["cv-train"]), ("heidi", [])):
        client.force_login(getattr(full, who))
        assert [each["name"] for each in ask(client, "queues/", "queues/")["items"]] == found
    client.force_login(full.erin)
    assert len(ask(client, "queues/", "queues/")["items"]) == 2
    assert len(ask(client, "queues/", "queues/", tenant="cv")["items"]) == 1


# --- positions ------------------------------------------------------------------------------------


def places(body):
    return [
        (each["position"], each["last"], each["job"] and each["job"]["job"], each["jobs"])
        for each in body["items"]
    ]


def test_line_shows_own_jobs_by_name_and_the_others_as_a_count(bob):
    answer = bob.get("/api/v1/queues/lab/nlp-train/positions/")
    body = described(answer, f"{QUEUE}positions/")

    assert places(body) == [(1, 1, "first", 1), (2, 3, None, 2), (4, 4, "train-1", 1)]
    assert [each["ahead"]["devices"] for each in body["items"]] == [0, 4, 21]
    assert body["waiting"] == {"jobs": 4, "devices": 29}
    nothing_of_others(answer)


def test_finance_sees_the_line_without_a_name(full, client):
    client.force_login(full.frank)

    assert places(ask(client, "queues/lab/nlp-train/positions/", f"{QUEUE}positions/")) == [
        (1, 4, None, 4)
    ]


def test_platform_sees_every_name(full, client):
    client.force_login(full.carol)
    body = ask(client, "queues/lab/nlp-train/positions/", f"{QUEUE}positions/")

    assert [each["job"]["job"] for each in body["items"]] == ["first", MARK, f"{MARK}-2", "train-1"]


def test_pages_of_the_line_count_on(full, client):
    client.force_login(full.carol)
    body = ask(client, "queues/lab/nlp-train/positions/", f"{QUEUE}positions/", size=3)
    second = described(client.get(body["next"]), f"{QUEUE}positions/")

    assert places(second) == [(4, 4, "train-1", 1)]
    assert second["items"][0]["ahead"]["devices"] == 21
    assert second["next"] is None


def test_place_of_a_page_follows_its_row(full, client):
    """A job comes in front and one goes: the next page still begins behind the last row."""
    client.force_login(full.carol)
    body = ask(client, "queues/lab/nlp-train/positions/", f"{QUEUE}positions/", size=2)
    for name, position in (("first", 2), (MARK, 3), (f"{MARK}-2", 4), ("train-1", 5)):
        Workload.objects.filter(job_name=name).update(position=position)
    seen.workload(full.cluster, "new", position=1, priority=9000)

    assert places(described(client.get(body["next"]), f"{QUEUE}positions/")) == [
        (4, 4, f"{MARK}-2", 1),
        (5, 5, "train-1", 1),
    ]


# --- tenants, requests, clusters ------------------------------------------------------------------


def test_tenant_has_its_queues_and_the_numbers_of_its_jobs(bob):
    body = ask(bob, "tenants/nlp/", "tenants/{slug}/")

    assert body["tenant"]["roles"] == ["user"]
    assert [queue["name"] for queue in body["queues"]] == ["nlp-train"]
    assert body["jobs"] == {"waiting": 2, "running": 1, "finished": 1}


def test_finance_sees_no_jobs_of_a_tenant(full, client):
    client.force_login(full.frank)

    assert ask(client, "tenants/nlp/", "tenants/{slug}/")["jobs"] is None
    assert ask(client, "jobs/", "jobs/")["items"] == []


def test_tenants_are_listed_by_right(full, client):
    client.force_login(full.bob)
    assert [each["slug"] for each in ask(client, "tenants/", "tenants/")["items"]] == ["nlp"]
    client.force_login(full.dave)
    assert [each["slug"] for each in ask(client, "tenants/", "tenants/")["items"]] == ["cv", "nlp"]


def test_request_says_what_was_asked_and_where_it_stands(bob):
    (row,) = ask(bob, "requests/", "requests/")["items"]

    assert (row["tenant"], row["state"], row["author"]) == ("nlp", "planned", "Alice")
    assert row["edits"][0]["nominal"] == 24
    assert row["problems"][0]["code"] == "GP-2205"
    assert ask(bob, f"requests/{row['id']}/", "requests/{id}/")["request"] == row
    assert ask(bob, "requests/", "requests/", show="done")["items"] == []


def test_cluster_shows_its_lines_to_the_platform_only(full, client):
    client.force_login(full.bob)
    body = ask(client, "clusters/lab/", "clusters/{slug}/")
    assert body["details"] is None
    (pool,) = body["pools"]
    assert (pool["capacity"], pool["committed"], pool["held"]) == (32, 24, 32)

    client.force_login(full.erin)
    details = ask(client, "clusters/lab/", "clusters/{slug}/")["details"]
    assert {line["kind"] for line in details["lines"]} == set(seen.KINDS)
    assert ask(client, "clusters/", "clusters/")["items"][0]["slug"] == "lab"
