"""Where people land, and what surrounds every page."""

from datetime import timedelta

import pytest
from django.utils import timezone

from queues.models import Stream
from tests.queues import pages, plans, seen


@pytest.mark.parametrize(
    ("who", "where"),
    [
        ("carol", "/requests/?show=decide"), ("dave", "/requests/?show=decide"),
        ("erin", "/clusters/"), ("alice", "/t/nlp/"), ("frank", "/t/nlp/"), ("bob", "/jobs/"),
    ],
)  # fmt: skip
def test_home_leads_to_what_a_role_has_to_do_with(lab, client, who, where):
    client.force_login(getattr(lab, who))

    assert client.get("/")["Location"] == where


def test_home_tells_who_has_no_role_what_to_do(lab, client):
    client.force_login(lab.heidi)
    answer = client.get("/")

    assert answer.status_code == 200
    assert "You have no role yet" in pages.words(answer)


def current(answer):
    """The links of the side navigation that say that they are this page."""
    side = pages.text(answer).split('<nav class="side"')[1].split("</nav>")[0]
    return [part.split('href="')[1].split('"')[0] for part in side.split("<a ")
            if 'aria-current="page"' in part]  # fmt: skip


@pytest.mark.parametrize(
    ("url", "marked"),
    [
        ("/requests/?show=decide", "/requests/?show=decide"), ("/requests/", "/requests/"),
        ("/requests/?tenant=nlp", "/requests/"), ("/clusters/lab/", "/clusters/"),
        ("/jobs/", "/jobs/"),
    ],
)  # fmt: skip
def test_one_link_says_where_one_is(lab, client, url, marked):
    client.force_login(lab.carol)

    assert current(client.get(url)) == [marked]


def test_counts_what_the_viewer_may_decide(lab, client):
    plans.planned(plans.asked(lab))
    client.force_login(lab.carol)
    assert '<span class="count">1</span>' in pages.text(client.get("/jobs/"))

    plan = plans.planned(plans.asked(lab, "cv-train", 9))
    plan.request.author = lab.carol
    plan.request.save(update_fields=["author"])
    assert '<span class="count">1</span>' in pages.text(client.get("/jobs/"))


def test_the_age_of_lost_data_turns_red(lab, client):
    seen.lab(lab.cluster)
    Stream.objects.update(alive_at=timezone.now() - timedelta(minutes=10))
    client.force_login(lab.alice)

    assert "is-old" in pages.text(client.get("/jobs/"))


def test_a_member_of_one_tenant_is_not_told_of_others(lab, client):
    client.force_login(lab.bob)
    for url in ("/jobs/", "/t/nlp/", "/requests/", "/clusters/"):
        pages.nothing_of_others(client.get(url))
