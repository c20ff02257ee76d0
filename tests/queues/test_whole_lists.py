"""What one workload tells of another is told when the list is whole, whatever order it came in."""

import pytest

from queues.models import Workload
from queues.services import intervals
from tests.queues.clusterside import KIND, Side, entry, queue, short, stream, workload

pytestmark = pytest.mark.django_db


def test_what_only_a_whole_queue_tells_waits_for_the_end_of_a_list(lab, monkeypatch):
    noted = []
    monkeypatch.setattr(
        intervals, "note", lambda _, changes, *__, **___: noted.extend(each.uid for each in changes)
    )
    around = {"ClusterQueue": [queue()], "LocalQueue": [entry()]}
    one, other = workload("a"), workload("b", conditions=[short()])
    rows = []
    for first, last in ((one, other), (other, one)):
        here = Side(lab.cluster)
        here.listed(**around)
        here.begin("Workload")
        here.tell("Workload", first)
        rows.append(here.write().rows)
        here.tell("Workload", last)
        rows.append(here.write().rows)
        here.memory.end(KIND["Workload"], "9")
        while here.memory.waiting:
            rows.append(here.write().rows)
        assert Workload.objects.get(name="a").code == "quota_short"
        assert stream(lab.cluster, "Workload").listed_at is not None
    assert rows == [0, 1, 1, 0, 0, 0, 0, 0]
    assert set(noted) == {"uid-nlp-a", "uid-nlp-b"}
