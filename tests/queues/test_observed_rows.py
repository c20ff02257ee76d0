"""What the observer says about its lines to a cluster."""

import pytest

from queues.models import ObservedObject, Stream
from queues.services import observed_rows as rows
from tests.queues.seen import observed

pytestmark = pytest.mark.django_db


def test_the_first_loss_keeps_its_time_until_the_line_is_back(lab):
    rows.listed(lab.cluster, "Workload", "5")
    rows.lost(lab.cluster, "Workload", "refused")
    first = Stream.objects.get(kind="Workload").lost_since
    rows.lost(lab.cluster, "Workload", "still refused")
    row = Stream.objects.get(kind="Workload")
    assert (row.lost_since, row.error) == (first, "still refused")
    rows.alive(lab.cluster, ["Workload"])
    row = Stream.objects.get(kind="Workload")
    assert (row.lost_since, row.error) == (None, "")


def test_rows_of_kinds_that_are_no_longer_watched_go(lab):
    observed(lab.cluster, "Widget", "w", {})
    observed(lab.cluster, "ClusterQueue", "q", {})
    rows.forget_unknown_kinds(lab.cluster)
    assert list(ObservedObject.objects.values_list("kind", flat=True)) == ["ClusterQueue"]


def test_each_list_of_a_kind_has_a_higher_number_than_the_one_before(lab):
    numbers = [rows.begun(lab.cluster, "Workload", needed=True) for _ in range(3)]
    assert numbers == [1, 2, 3]
    assert rows.begun(lab.cluster, "Node", needed=True) == 1


@pytest.mark.parametrize(
    ("before", "after", "back"),
    [
        ("9", "10", False),
        ("10", "9", True),
        ("10", "10", False),
        ("", "9", False),
        ("x", "9", False),
    ],
)
def test_a_version_that_goes_back_is_noticed(lab, before, after, back):
    rows.listed(lab.cluster, "Workload", before)
    assert rows.listed(lab.cluster, "Workload", after) is back
    assert (Stream.objects.get().went_back_at is not None) is back
