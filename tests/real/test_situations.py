"""What the page of a job says in each way in which it can stand, on the real Kueue."""

import html
import re

import pytest
from django.urls import reverse

from tests.real import registered
from tests.real.situations import SITUATIONS, stage
from tests.stack import wait_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.real]


@pytest.fixture
def scene(control_plane, admin, name):
    with stage(control_plane, name) as made:
        yield made


@pytest.fixture
def observed(admin, place, settings, scene):
    registered.seal_with_fresh_keys(settings)
    dave = registered.person("dave", "admin")
    cluster = registered.register(admin, place, dave)
    with registered.observing(cluster):
        yield cluster, dave


def words(answer) -> str:
    text = html.unescape(re.sub(r"<[^>]*>", "", answer.content.decode()))
    return re.sub(r"\s+", " ", text)


def test_the_page_says_what_is_so(scene, observed, client, subtests):
    cluster, dave = observed
    client.force_login(dave)
    jobs = {situation: situation(scene) for situation in SITUATIONS}

    for situation, expected in SITUATIONS.items():
        wanted = [text.format(name=scene.name) for text in expected]
        url = reverse("job", args=[cluster.slug, scene.name, jobs[situation]])

        def said(url=url, wanted=wanted) -> bool:
            page = words(client.get(url))
            return all(text in page for text in wanted)

        with subtests.test(msg=situation.__name__):
            try:
                wait_for(said)
            except AssertionError:
                pytest.fail(f"{wanted} not in: {words(client.get(url))[:3000]}")
