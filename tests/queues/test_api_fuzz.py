"""Whatever is asked of the API: an answer that is described, never a 500, nothing of others."""

from urllib.parse import quote

import pytest
from django.test import Client
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tests.cast import MARK
from tests.queues import api, seen

PATHS = {
    path.removeprefix(api.ROOT): operation["get"]
    for path, operation in api.description()["paths"].items()
}
#: What stands for something in the cast, something of others, and nothing at all.
KNOWN = [
    "lab",
    "nlp",
    "cv",
    "nlp-train",
    "cv-train",
    "train-1",
    MARK,
    "00000000-0000-4000-8000-000000000000",
]
words = st.one_of(st.sampled_from(KNOWN), st.text(min_size=1, max_size=40), st.integers().map(str))
odd = st.sampled_from(
    ["", "\0", "%00", "../..", "' OR 1=1 --", "\N{RIGHT-TO-LEFT OVERRIDE}x", "1e999", "-1", "null", "[]", "x" * 9000,
     "\N{FULLWIDTH DIGIT ONE}", "9" * 30, "{0.__class__}", "%(n)s", "<b>"],
)  # fmt: skip


#: Places in the order of a path's parts: of the asker, and of others.
OWN = {"cluster": "lab", "namespace": "nlp", "name": "train-1", "slug": "nlp"}
THEIRS = {"cluster": "lab", "namespace": "cv", "name": f"{MARK}-1", "slug": "cv"}
PARTS = {"queues": {"name": ("nlp-train", "cv-train")}, "clusters": {"slug": ("lab", "lab")}}


def value_of(parameter):
    """Values as described, and now and then others."""
    choices = parameter["schema"].get("enum")
    good = (
        st.sampled_from(choices).map(str) if choices else st.one_of(st.sampled_from(KNOWN), words)
    )
    if parameter["schema"].get("type") == "integer":
        good = st.integers(1, 200).map(str)
    return st.integers(0, 9).flatmap(lambda luck: odd if luck == 0 else good)


@st.composite
def queries(draw, operation):
    named = {each["name"]: each for each in operation["parameters"] if each["in"] == "query"}
    named.pop("after", None)
    chosen = (
        draw(st.lists(st.sampled_from(sorted(named)), max_size=2, unique=True)) if named else []
    )
    query = {name: draw(value_of(named[name])) for name in chosen}
    match draw(st.integers(0, 9)):
        case 0:
            query["after"] = draw(st.one_of(odd, st.text(max_size=99)))
        case 1:
            query[draw(st.text(min_size=1, max_size=12))] = draw(odd)
    return query


@st.composite
def places(draw, path, operation):
    """A place of one's own, of others, or of nobody."""
    luck = draw(st.integers(0, 9))
    place = {}
    for each in (each["name"] for each in operation["parameters"] if each["in"] == "path"):
        own, theirs = PARTS.get(path.split("/")[0], {}).get(each, (OWN.get(each), THEIRS.get(each)))
        found = own if luck < 5 else theirs if luck < 8 else draw(st.one_of(words, odd))
        place[each] = quote(found or draw(words) or "x", safe="")
    return path.format_map(place)


@st.composite
def questions(draw):
    path = draw(st.sampled_from(sorted(PATHS)))
    return path, draw(places(path, PATHS[path])), draw(queries(PATHS[path]))


@pytest.fixture
def world(lab):
    seen.lab(lab.cluster)
    for number in range(5):
        seen.workload(
            lab.cluster,
            f"train-{number}",
            position=2 * number + 1,
            raw=f"cv/{MARK}-{number} has it",
        )
        seen.workload(lab.cluster, f"{MARK}-{number}", namespace="cv", position=2 * number + 2)
        seen.workload(lab.cluster, f"{MARK}-q{number}", namespace="cv", queue="cv-train")
    return lab


@pytest.fixture(params=["bob", "alice", "frank", "heidi", "carol"])
def asker(world, request):
    client = Client(raise_request_exception=True)
    client.force_login(getattr(world, request.param))
    return client, request.param != "carol"


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(question=questions())
def test_no_question_breaks_it_or_opens_it(asker, question):
    client, is_member = asker
    path, url, query = question
    answer = client.get(f"{api.ROOT}{url}", query)
    status = answer.status_code
    event(f"{path} {status}")

    # Lists of the platform are closed to tenants, and say so in their description.
    refused = {403} if "403" in PATHS[path]["responses"] else set()
    assert status in {200, 400, 404} | refused, (url, query)
    body = (
        api.described(answer, path) if status == 200 or "/" not in url.strip("/") else answer.json()
    )
    if status != 200:
        assert body["code"] in ("GP-1003", "GP-1400", "GP-1404", "GP-1420", "GP-1421")
        assert body["status"] == status
    if is_member:
        body.pop("next", None)  # it repeats the question
        assert MARK not in str(body)
        assert MARK not in str({name: each for name, each in answer.items() if name != "Location"})


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    path=st.sampled_from(["jobs/", "queues/lab/nlp-train/positions/"]),
    size=st.integers(1, 12),
    data=st.data(),
)
def test_pages_of_any_size_give_every_row_once(world, path, size, data):
    client = Client()
    client.force_login(world.carol)
    sort = (
        data.draw(st.sampled_from(["newest", "oldest", "attention", "size"]))
        if path == "jobs/"
        else "place"
    )
    whole = client.get(f"{api.ROOT}{path}", {"sort": sort, "size": 200}).json()["items"]
    found, url = [], f"{api.ROOT}{path}?sort={sort}&size={size}"
    while url:
        body = client.get(url).json()
        found += body["items"]
        url = body["next"]

    assert found == whole
