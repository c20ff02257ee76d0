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


def value_of(parameter):
    """Values as described, and others that are not."""
    choices = parameter["schema"].get("enum")
    good = st.sampled_from(choices).map(str) if choices else words
    if parameter["schema"].get("type") == "integer":
        good = st.integers(-5, 500).map(str)
    return st.one_of(good, good, odd)


def queries(operation):
    named = [each for each in operation["parameters"] if each["in"] == "query"]
    known = st.fixed_dictionaries({}, optional={each["name"]: value_of(each) for each in named})
    unknown = st.dictionaries(st.text(min_size=1, max_size=12), odd, max_size=1)
    return st.one_of(
        known, known, known, st.tuples(known, unknown).map(lambda two: two[0] | two[1])
    )


@st.composite
def questions(draw):
    path = draw(st.sampled_from(sorted(PATHS)))
    place = {}
    for each in PATHS[path]["parameters"]:
        if each["in"] == "path":
            place[each["name"]] = quote(draw(st.one_of(words, odd)) or "x", safe="")
    return path, path.format_map(place), draw(queries(PATHS[path]))


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

    assert status in (200, 400, 404), (url, query)
    body = (
        api.described(answer, path) if status == 200 or "/" not in url.strip("/") else answer.json()
    )
    if status != 200:
        assert body["code"] in ("GP-1400", "GP-1404", "GP-1420", "GP-1421")
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
