"""Questions to Kueue and the marks that allow them: how many, how often, and what an error means."""

import itertools
import threading

import pytest

from kube import errors
from kube.visibility import LONG_PAGE, PAGE, pending
from queues.services import kueue_lists, looked
from queues.services.kueue_lists import KueueLists
from tests.stack import wait_for

HERE, THERE, MANY = 10**12, 10**12 + 1, 10**12 + 2  # ids of clusters that no test makes


class Kueue:
    """Answers every question with one list or error, once the gate is open."""

    def __init__(self, answer=()):
        self.answer = answer
        self.asked = []
        self.gate = threading.Event()
        self.gate.set()

    def raw(self, path, query):
        self.asked.append((path.split("/")[3], *(int(value) for _key, value in query)))
        assert self.gate.wait(30)
        if isinstance(self.answer, Exception):
            raise self.answer
        _, limit, offset = self.asked[-1]
        items = [{"metadata": {"namespace": "nlp", "name": name}} for name in self.answer]
        return {"items": items[offset : offset + limit]}


@pytest.fixture
def lists():
    made = KueueLists(Kueue())
    yield made
    made.client.gate.set()
    made.close()


def answered(lists, queue="q", now=0.0):
    assert lists.ask(queue, 10, now)
    wait_for(lambda: all(asked.done() for asked in lists._asked.values()))
    return lists.answers(now)[0]


def test_at_most_four_questions_at_once_and_never_two_about_one_queue(lists):
    lists.client.gate.clear()
    assert [lists.ask(f"q{n}", 10, 0.0) for n in range(6)] == [True] * 4 + [False] * 2
    assert not lists.ask("q0", 10, 0.0)
    assert lists.answers(0.0) == []
    wait_for(lambda: len(lists.client.asked) == 4)
    lists.client.gate.set()
    wait_for(lambda: all(asked.done() for asked in lists._asked.values()))
    assert {answer.queue for answer in lists.answers(0.0)} == {"q0", "q1", "q2", "q3"}
    assert lists.ask("q0", 10, 0.0)


@pytest.mark.parametrize(
    ("error", "trouble", "quiet"),
    [
        (errors.NotFound("no such queue"), "unknown_queue", 0),
        (errors.NotVisible("nobody to ask"), "silent", kueue_lists.BACK_OFF),
        (errors.NotVisible("nobody to ask", retry_after=70.0), "silent", 70),
        (errors.Unreachable("gone"), "silent", kueue_lists.BACK_OFF),
        (errors.Protocol("cut short"), "silent", kueue_lists.BACK_OFF),
        (errors.Forbidden("not you"), "forbidden", kueue_lists.BACK_OFF),
        (errors.Throttled("later", retry_after=40.0), "throttled", 40),
        (errors.Throttled("later"), "throttled", kueue_lists.FIRST_WAIT),
    ],
)
def test_trouble_has_a_name_and_a_time_for_which_kueue_is_left_alone(lists, error, trouble, quiet):
    lists.client.answer = error
    assert answered(lists, now=100.0).trouble == trouble
    assert (lists.quiet_until or 100.0) == 100.0 + quiet
    if quiet:
        assert not lists.ask("other", 10, 99.0 + quiet)
    assert lists.ask("other", 10, 100.0 + quiet)


def test_each_refusal_in_a_row_is_waited_out_longer(lists):
    lists.client.answer = errors.Throttled("later")
    waits = []
    for _ in range(7):
        before = lists.quiet_until
        answered(lists, now=before)
        waits.append(lists.quiet_until - before)
    assert waits == [2, 4, 8, 16, 32, 60, 60]
    lists.client.answer = []
    answered(lists, now=1000.0)
    lists.client.answer = errors.Throttled("later")
    answered(lists, now=1000.0)
    assert lists.quiet_until == 1002.0


def test_a_cluster_without_the_api_is_asked_for_the_older_version_once(lists):
    lists.client.answer = errors.KindMissing("404 page not found")
    assert answered(lists, now=5.0).trouble == "absent"
    assert answered(lists, now=5.0).trouble == "absent"
    assert [version for version, *_ in lists.client.asked] == ["v1beta2", "v1beta1"]
    assert not lists.ask("q", 10, kueue_lists.HOPELESS)
    assert lists.ask("q", 10, 5.0 + kueue_lists.HOPELESS)


def test_a_cluster_that_serves_only_the_older_version(lists):
    lists.client.answer = errors.KindMissing("404 page not found")
    answered(lists)
    lists.client.answer = ["a"]
    assert answered(lists).found.names == [("nlp", "a")]
    assert answered(lists).trouble == ""
    assert [version for version, *_ in lists.client.asked] == ["v1beta2", "v1beta1", "v1beta1"]


@pytest.mark.parametrize(
    ("long_lists", "pages"), [(False, [(PAGE, 0), (551, PAGE)]), (True, [(1551, 0)])]
)
def test_only_a_kueue_that_bears_it_is_asked_for_more_than_a_thousand(long_lists, pages):
    client = Kueue([f"w-{number}" for number in range(5000)])
    made = KueueLists(client, long_lists=long_lists)
    assert made.ask("q", 1551, 0.0)
    wait_for(lambda: made._asked["q"].done())
    assert made.answers(0.0)[0].found.complete is False
    assert [(limit, offset) for _, limit, offset in client.asked] == pages
    made.close()


def test_no_question_is_deeper_than_the_depth():
    client = Kueue([f"w-{number}" for number in range(20_000)])
    found = pending(client, "q", limit=kueue_lists.DEPTH, page_size=LONG_PAGE)
    assert (len(found.items), found.complete) == (kueue_lists.DEPTH, False)
    made = KueueLists(client, long_lists=True)
    made.ask("q", 50_000, 0.0)
    wait_for(lambda: made._asked["q"].done())
    assert max(limit for _, limit, _ in client.asked) == kueue_lists.DEPTH
    made.close()


@pytest.mark.parametrize("item", [5, {"metadata": 5}, {"metadata": {}, "priority": "much"}])
def test_a_list_that_cannot_be_read_is_trouble(lists, item):
    lists.client.raw = lambda _path, _query: {"items": [item]}
    assert answered(lists).trouble == "silent"


# --- who looks ------------------------------------------------------------------------------------------


def test_marks_end_by_themselves_and_belong_to_one_cluster(monkeypatch):
    clock = itertools.count(1_000_000, 60)
    monkeypatch.setattr(looked.time, "time", lambda: next(clock))
    looked.look([(HERE, "a"), (HERE, "b"), (THERE, "c"), (HERE, "")])
    assert looked.looked_at(HERE) == {"a", "b"}
    assert looked.looked_at(THERE) == {"c"}
    for _ in range(5):
        found = looked.looked_at(HERE)
    assert found == frozenset()


def test_one_page_marks_only_so_many_queues():
    looked.look((MANY, f"q-{number}") for number in range(200))
    assert len(looked.looked_at(MANY)) == looked.MOST


def test_without_redis_a_page_is_shown_and_nobody_looks(settings, monkeypatch):
    working, settings.REDIS_URL = settings.REDIS_URL, "redis://127.0.0.1:1/0"
    looked.look([(HERE, "a")])
    assert looked.looked_at(HERE) == frozenset()
    monkeypatch.setattr(looked, "_redis", lambda _url: pytest.fail("asked again at once"))
    looked.look([(HERE, "a")])
    assert looked.looked_at(HERE) == frozenset()
    monkeypatch.undo()
    settings.REDIS_URL = working
    looked.look([(HERE, "a")])
    assert "a" in looked.looked_at(HERE)
