"""Places of waiting jobs: how deep the observer asks, and how often."""

import pytest

from kube.errors import NotFound, NotVisible
from kube.visibility import PAGE, pending
from queues.models import Workload
from queues.services.positions import BACK_OFF, DEPTH, INTERVAL, Positions
from tests.queues.seen import workload

pytestmark = pytest.mark.django_db


class Kueue:
    """The list of one queue, cut into pages as Kueue cuts it."""

    def __init__(self, names):
        self.items = [{"metadata": {"namespace": "nlp", "name": each}} for each in names]

    def raw(self, _path, query):
        limit, offset = (int(value) for _key, value in query)
        return {"items": self.items[offset : offset + limit]}


class Silent:
    def __init__(self, error):
        self.error = error

    def raw(self, _path, _query):
        raise self.error


def names(number):
    return [f"job-{index}-0a1b2" for index in range(number)]


def asked(cluster, client):
    """Ask once about the queue and return for how long it is left alone."""
    found = Positions(cluster, client)
    return found._ask("nlp-train")


def place(name):
    return Workload.objects.get(job_name=name).position


def test_a_place_beyond_the_first_page_is_told(lab):
    workload(lab.cluster, "1203")
    workload(lab.cluster, "0")
    asked(lab.cluster, Kueue(names(1500)))
    assert (place("0"), place("1203")) == (1, 1204)


def test_a_long_list_is_asked_less_often(lab):
    assert asked(lab.cluster, Kueue(names(3))) == INTERVAL
    assert asked(lab.cluster, Kueue(names(PAGE * 3 + 1))) == 4 * INTERVAL


def test_a_list_without_end_is_read_to_a_depth():
    found = pending(Kueue(names(DEPTH + 5)), "nlp-train", limit=DEPTH)
    assert (len(found.items), found.complete) == (DEPTH, False)


@pytest.mark.parametrize("error", [NotFound("no such queue"), NotVisible("nobody to ask")])
def test_without_an_answer_the_last_place_stays(lab, error):
    workload(lab.cluster, "0", position=7)
    assert asked(lab.cluster, Silent(error)) == BACK_OFF
    assert place("0") == 7
