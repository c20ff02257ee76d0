"""The API says what pages say: under the same rights, described, and in words that stay."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from queues.models import Stream, Workload
from queues.services import looked
from tenants.models import Entry, Membership, Queue, Request, Tenant
from tests.cast import GIB, MARK
from tests.query_counts import counted
from tests.queues import api, seen
from tests.queues.api import ask, described, nothing_of_others

JOB = "jobs/{cluster}/{namespace}/{name}/"
QUEUE = "queues/{cluster}/{name}/"
NAME = "job-train-1-0a1b2"


def line_of_both(lab):
    """Both teams wait in the queue of the language team."""
    seen.lab(lab.cluster)
    at = timezone.now() - timedelta(hours=1)
    at = timezone.now() - timedelta(hours=1)
    seen.workload(
        lab.cluster, "first", position=1, devices=4, priority=2000, priority_class="boss-urgent"
    )
    seen.workload(lab.cluster, MARK, namespace="cv", position=2, devices=16)
    seen.workload(lab.cluster, f"{MARK}-2", namespace="cv", position=3, devices=1)
    seen.workload(lab.cluster, "train-1", position=4, priority_class="normal-batch", created_at=at)


@pytest.fixture
def full(lab):
    """Both teams wait in both queues; one job runs, one is done."""
    line_of_both(lab)
    at = timezone.now() - timedelta(hours=1)
    seen.running(lab.cluster, "train-0", created_at=at - timedelta(days=1))
    seen.workload(lab.cluster, "report", state="finished", code="succeeded", stage="", params={})
    seen.workload(lab.cluster, f"{MARK}-3", namespace="cv", queue="cv-train", position=1)
    Request.objects.create(
        cluster=lab.cluster, tenant=lab.nlp, kind="quota", author=lab.alice, reason="A better model",
        state="planned", key="key-0123456789abcdef", problems=[{"field": "", "code": "GP-2205"}],
        edits=[{"edit": "set_quota", "queue": "nlp-train", "flavor": "a100", "nominal": 24}],
    )  # fmt: skip
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


# --- what every answer has ------------------------------------------------------------------------


def test_every_answer_tells_how_old_it_is(bob):
    body = ask(bob, "jobs/", "jobs/")
    heard = min(Stream.objects.filter(kind="Workload").values_list("alive_at", flat=True))

    assert datetime.fromisoformat(body["observed_at"]) == heard
    assert body["observed_at"].endswith("Z")
    assert body["age_seconds"] >= 1
    assert (body["lost_since"], [each["cluster"] for each in body["clusters"]]) == (None, ["lab"])


def test_lost_line_is_told(bob):
    since = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    Stream.objects.update(lost_since=since)

    assert ask(bob, "queues/lab/nlp-train/", QUEUE)["lost_since"] == "2026-01-02T03:04:05Z"


def test_cluster_that_was_never_heard_has_no_age(bob):
    Stream.objects.all().delete()
    body = ask(bob, "jobs/", "jobs/")

    assert (body["observed_at"], body["age_seconds"]) == (None, None)


LOOKED_AT = [
    "jobs/", "jobs/lab/nlp/train-1/", "jobs/lab/nlp/train-1/why/", "queues/", "queues/lab/nlp-train/",
    "queues/lab/nlp-train/positions/", "tenants/", "tenants/nlp/", "requests/", "clusters/", "clusters/lab/",
]  # fmt: skip


@pytest.mark.parametrize("url", LOOKED_AT)
def test_who_has_the_answer_gets_304(bob, url):
    first = bob.get(f"/api/v1/{url}")
    Stream.objects.update(alive_at=timezone.now())
    again = bob.get(f"/api/v1/{url}", headers={"If-None-Match": first["ETag"]})

    assert (again.status_code, again.content) == (304, b"")
    assert again["ETag"] == first["ETag"]
    assert again["Observed-At"] > first["Observed-At"]
    assert first["Cache-Control"] == "private, no-cache"
    assert {"Cookie", "Accept-Language"} <= set(first["Vary"].split(", "))


@pytest.mark.parametrize(
    "url", [url for url in LOOKED_AT if url.split("/")[0] in ("jobs", "queues")]
)
def test_answer_of_another_generation_is_sent(full, bob, url):
    tag = bob.get(f"/api/v1/{url}")["ETag"]
    Workload.objects.filter(job_name="train-1").update(position=9, devices=7)
    Queue.objects.update(stop_policy="Hold")

    assert bob.get(f"/api/v1/{url}", headers={"If-None-Match": tag}).status_code == 200


def test_etag_is_personal(full, bob):
    tag = bob.get("/api/v1/clusters/lab/")["ETag"]
    other = Client()
    other.force_login(full.alice)

    assert other.get("/api/v1/clusters/lab/", headers={"If-None-Match": tag}).status_code == 200


def test_head_is_get_without_the_body(bob):
    answer = bob.head("/api/v1/jobs/")

    assert (answer.status_code, answer.content) == (200, b"")
    assert answer["ETag"] == bob.get("/api/v1/jobs/")["ETag"]


# --- pages ----------------------------------------------------------------------------------------


def test_pages_of_jobs_are_stable_while_jobs_come(full, bob):
    found, url = [], "/api/v1/jobs/?size=2&state=waiting"
    for number in range(9):
        seen.workload(full.cluster, f"more-{number}")
    while url:
        body = described(bob.get(url), "jobs/")
        found += names(body)
        seen.workload(full.cluster, f"new-{len(found)}")
        url = body["next"]

    assert found == [f"more-{number}" for number in reversed(range(9))] + ["first", "train-1"]


@pytest.mark.parametrize(
    "cursor", ["", "nonsense", "%00", "x" * 5000, "\N{SNOWMAN}", "AAAA", "W10"]
)
@pytest.mark.parametrize("url", ["jobs/", "queues/", "queues/lab/nlp-train/positions/"])
def test_broken_cursor_is_refused_with_a_clear_word(bob, url, cursor):
    answer = bob.get(f"/api/v1/{url}", {"after": cursor})
    body = described(answer, "jobs/")

    assert (answer.status_code, body["code"], body["field"]) == (400, "GP-1420", "after")


def test_cursor_of_another_list_is_refused(full, client):
    client.force_login(full.carol)
    after = ask(client, "queues/", "queues/", size=1)["next"].partition("after=")[2]

    for url in ("jobs/", "queues/lab/nlp-train/positions/", "queues/?size=1&sort=name&tenant=cv&x"):
        answer = client.get(f"/api/v1/{url}{'&' if '?' in url else '?'}after={after}")
        assert answer.status_code == 400


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("stat=running", "stat"), ("state=nonsense", "state"), ("state=running&state=waiting", "state"),
        ("tenant=cv", "tenant"), ("tenant=nobody", "tenant"), ("sort=password", "sort"), ("size=0", "size"),
        ("name=%00", "name"), ("uid=" + "x" * 65, "uid"), ("format=xml", "format"), ("page=2", "page"),
    ],
)  # fmt: skip
def test_parameter_that_cannot_be_is_refused(bob, query, field):
    answer = bob.get(f"/api/v1/jobs/?{query}")
    body = described(answer, "jobs/")

    assert (answer.status_code, body["code"], body["field"]) == (400, "GP-1421", field)


def test_tenant_of_others_is_refused_in_the_same_words_as_none(bob):
    theirs, none = (bob.get("/api/v1/jobs/", {"tenant": slug}).json() for slug in ("cv", "nobody"))

    assert theirs["detail"] == none["detail"]


# --- who asks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", [*LOOKED_AT, "", "schema/", "jobs/?after=nonsense"])
def test_nobody_gets_401_and_no_redirect(full, url):
    answer = Client().get(
        f"/api/v1/{url}", headers={"Accept": "text/html"} if url == "jobs/" else {}
    )

    assert answer.status_code == 401
    assert answer.json()["code"] == "GP-1401"
    assert answer["WWW-Authenticate"].startswith("Session")
    assert "Location" not in answer


def test_closed_account_is_nobody(full, bob):
    full.bob.is_active = False
    full.bob.save()

    assert bob.get("/api/v1/jobs/").status_code == 401


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options"])
def test_nothing_can_be_changed(bob, method):
    answer = getattr(bob, method)("/api/v1/jobs/", {"state": "finished"})

    assert answer.status_code == 405
    assert answer.json()["code"] == "GP-1406"
    assert answer["Allow"] == "GET, HEAD"


def test_reading_changes_nothing(full, client):
    client.force_login(full.carol)
    before = list(Workload.objects.order_by("pk").values()), list(Request.objects.values())
    for url in LOOKED_AT:
        assert client.get(f"/api/v1/{url}").status_code == 200

    assert before == (
        list(Workload.objects.order_by("pk").values()),
        list(Request.objects.values()),
    )


def test_only_json_can_be_had(bob):
    answer = bob.get("/api/v1/jobs/", headers={"Accept": "application/xml"})

    assert (answer.status_code, answer.json()["code"]) == (406, "GP-1407")


@pytest.mark.parametrize("who", ["bob", "alice", "frank", "heidi"])
@pytest.mark.parametrize(
    "url",
    [
        f"jobs/lab/cv/{MARK}/", f"jobs/lab/cv/{MARK}/why/", "queues/lab/cv-train/", "tenants/cv/",
        "queues/lab/cv-train/positions/", f"jobs/lab/nlp/{MARK}/", "jobs/edge/nlp/train-1/", "jobs/lab/nlp/%00/",
    ],
)  # fmt: skip
def test_what_is_of_others_does_not_exist(full, client, who, url):
    client.force_login(getattr(full, who))
    answer = client.get(f"/api/v1/{url}")

    assert (answer.status_code, answer.json()["code"]) == (404, "GP-1404")
    nothing_of_others(answer)


def test_job_in_a_queue_of_others_gives_neither_its_name_nor_its_numbers(full, bob):
    Workload.objects.filter(job_name="train-1").update(queue="cv-train")
    for url in ("jobs/", "jobs/lab/nlp/train-1/", "jobs/lab/nlp/train-1/why/"):
        answer = bob.get(f"/api/v1/{url}")
        assert "cv-train" not in answer.content.decode()
        assert "of 8 in its queue" not in answer.content.decode()
        nothing_of_others(answer)


def test_way_in_leads_to_every_list(bob):
    found = bob.get("/api/v1/").json()

    assert set(found) == {"jobs", "queues", "tenants", "requests", "clusters", "schema"}
    assert {bob.get(url).status_code for url in found.values()} == {200}


def test_description_is_served(bob):
    answer = bob.get("/api/v1/schema/")

    assert answer.content.decode() == api.FILE.read_text()
    as_json = bob.get("/api/v1/schema/", headers={"Accept": "application/json"}).json()
    assert set(as_json["paths"]) == set(api.description()["paths"])


def test_no_number_of_the_database_is_an_id(full, client):
    client.force_login(full.carol)
    keys = {f'"{model._meta.pk.name}"' for model in (Workload, Queue, Tenant)} | {'"pk"'}
    for url in LOOKED_AT:
        text = client.get(f"/api/v1/{url}").content.decode()
        assert not [key for key in keys if key in text.replace('"id":"', "")], url


@pytest.mark.parametrize("number", [1, 20])
@pytest.mark.parametrize("url", LOOKED_AT)
def test_queries_do_not_grow(lab, client, url, number):
    seen.lab(lab.cluster)
    seen.workload(lab.cluster, "train-1")
    for each in range(number):
        seen.workload(lab.cluster, f"more-{each}", position=each + 1)
        seen.workload(lab.cluster, f"{MARK}-{each}", namespace="cv", position=each + 50)
    client.force_login(lab.bob)
    with counted(f"api: {url.replace('lab/nlp/train-1', '...').replace('lab/nlp-train', '...')}"):
        assert client.get(f"/api/v1/{url}").status_code == 200


@pytest.mark.parametrize("number", [1, 12])
def test_queries_do_not_grow_with_queues_and_requests(lab, client, number):
    seen.lab(lab.cluster)
    for each in range(number):
        queue = Queue.objects.create(
            cluster=lab.cluster, tenant=lab.nlp, name=f"nlp-{each}", purpose="training",
            strategy="BestEffortFIFO", stop_policy="None", spec={},
        )  # fmt: skip
        Entry.objects.create(queue=queue, cluster=lab.cluster, namespace="nlp", name=f"e-{each}")
        Request.objects.create(
            cluster=lab.cluster, tenant=lab.nlp, kind="quota", author=lab.alice, reason="x", state="applied",
            key=f"key-{each}-0123456789abcdef", edits=[],
        )  # fmt: skip
    client.force_login(lab.alice)
    for url in ("queues/", "tenants/nlp/", "requests/"):
        with counted(f"api: {url}"):
            client.get(f"/api/v1/{url}")


CHEAP = ["queues/lab/nlp-train/", "queues/lab/nlp-train/positions/", "tenants/nlp/"]


@pytest.mark.parametrize("url", CHEAP)
def test_what_has_not_moved_is_not_read(bob, url):
    tag = bob.get(f"/api/v1/{url}")["ETag"]
    with counted(f"api: {url.replace('lab/nlp-train', '...')}, unchanged"):
        again = bob.get(f"/api/v1/{url}", headers={"If-None-Match": tag})

    assert (again.status_code, again["ETag"]) == (304, tag)


@pytest.mark.parametrize("url", CHEAP)
def test_what_moved_and_reads_the_same_is_not_sent_again(full, bob, url):
    tag = bob.get(f"/api/v1/{url}")["ETag"]
    Workload.objects.filter(job_name="train-1").update(raw="said in other words")
    again = bob.get(f"/api/v1/{url}", headers={"If-None-Match": tag})

    assert again.status_code == 304
    assert again["ETag"] != tag


@pytest.mark.parametrize("url", CHEAP)
def test_other_roles_see_another_generation(full, bob, url):
    """What was shown by name must not be taken for still good when the role is gone."""
    tag = bob.get(f"/api/v1/{url}")["ETag"]
    Membership.objects.filter(user=full.bob).update(role="finance")

    answer = bob.get(f"/api/v1/{url}", headers={"If-None-Match": tag})
    assert answer.status_code == (304 if url == "queues/lab/nlp-train/" else 200)


@pytest.mark.parametrize(
    "tag", ['"x"', 'W/"<script>"', "nonsense", '"' + "0" * 41 + '"', 'W/"' + "0" * 20 + '"']
)
def test_tag_of_somebody_else_is_not_repeated(bob, tag):
    answer = bob.get("/api/v1/queues/lab/nlp-train/", headers={"If-None-Match": tag})

    assert answer.status_code == 200
    assert answer["ETag"] != tag


@pytest.mark.parametrize(
    "url",
    [
        "jobs/",
        "jobs/lab/nlp/train-1/",
        "jobs/lab/nlp/train-1/why/",
        "queues/lab/nlp-train/positions/",
    ],
)
def test_a_look_at_a_place_has_it_checked(full, bob, url):
    assert looked.looked_at(full.cluster.pk) == set()

    bob.get(f"/api/v1/{url}")

    assert looked.looked_at(full.cluster.pk) == {"nlp-train"}
