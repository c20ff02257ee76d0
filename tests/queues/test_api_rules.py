"""The rules of the API: pages, refusals, who may ask, and nothing of others."""

import pytest
from django.test import Client

from queues.models import Workload
from tenants.models import Queue, Request, Tenant
from tests.cast import MARK
from tests.queues import api, seen
from tests.queues.api import LOOKED_AT, ask, day_of_both, described, nothing_of_others


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

    lists = {"jobs", "queues", "tenants", "requests", "clusters", "schema"}
    assert set(found) == lists | {"periods", "bills"}
    assert {bob.get(found[name]).status_code for name in lists} == {200}
    # What a month is closed with is the platform's.
    assert {bob.get(found[name]).status_code for name in ("periods", "bills")} == {403}


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


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options"])
def test_what_would_write_is_refused_before_it_is_read(lab, client, method):
    client.force_login(lab.alice)
    deep = "[" * 100_000

    answer = getattr(client, method)("/api/v1/jobs/", deep, content_type="application/json")

    assert answer.status_code == 405
