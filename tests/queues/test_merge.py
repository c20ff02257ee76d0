"""Many rows at once: equal ones cost nothing, older ones change nothing, lost ones go."""

import json
import re

import pytest
from django.db import DataError, connection, transaction
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from queues.models import ObservedObject
from queues.services.merge import Merging, Table, as_text, merge, sweep
from queues.services.observed import digest, encoded
from queues.services.observed_rows import EVENTS, OBJECTS, WORKLOADS

pytestmark = pytest.mark.django_db
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def row(cluster, name, body=None, *, epoch=1, in_sync=None, kind="Node", at=None):
    values = encoded((f"uid-{name}", "7", body or {}, in_sync))
    at = at or timezone.now()
    return (cluster.pk, kind, "", name, *values, at, at, digest(values), epoch)


def names(**more):
    return sorted(ObservedObject.objects.filter(**more).values_list("name", flat=True))


def test_rows_that_say_the_same_are_not_written(lab):
    assert merge(OBJECTS, [row(lab.cluster, "a"), row(lab.cluster, "b")]) == 2
    before = dict(ObservedObject.objects.values_list("name", "observed_at"))
    assert merge(OBJECTS, [row(lab.cluster, "a"), row(lab.cluster, "b", {"x": 1})]) == 1
    after = dict(ObservedObject.objects.values_list("name", "observed_at"))
    assert before["a"] == after["a"]
    assert before["b"] < after["b"]


def test_an_equal_row_leaves_no_version_behind(lab):
    merge(OBJECTS, [row(lab.cluster, "a")])

    def place():
        with connection.cursor() as cursor:
            cursor.execute("SELECT ctid::text, xmin::text FROM queues_observedobject")
            return cursor.fetchall()

    before = place()
    merge(OBJECTS, [row(lab.cluster, "a", epoch=9)])
    assert place() == before


def test_an_observer_of_an_older_list_changes_nothing(lab):
    merge(OBJECTS, [row(lab.cluster, "a", {"x": "new"}, epoch=5)])
    assert merge(OBJECTS, [row(lab.cluster, "a", {"x": "old"}, epoch=4)]) == 0
    assert merge(OBJECTS, [row(lab.cluster, "a", {"x": "newer"}, epoch=5)]) == 1
    assert ObservedObject.objects.get().body == {"x": "newer"}


def test_a_steady_column_keeps_its_value_until_the_other_changes(lab):
    merge(OBJECTS, [row(lab.cluster, "a", {"x": 1}, in_sync=True)])
    since = ObservedObject.objects.get().sync_since
    merge(OBJECTS, [row(lab.cluster, "a", {"x": 2}, in_sync=True)])
    assert ObservedObject.objects.get().sync_since == since
    merge(OBJECTS, [row(lab.cluster, "a", {"x": 2}, in_sync=False)])
    assert ObservedObject.objects.get().sync_since > since


def test_what_a_list_did_not_hold_goes_and_only_that(lab):
    merge(OBJECTS, [row(lab.cluster, each) for each in "abc"])
    merge(OBJECTS, [row(lab.cluster, "q", kind="Cohort")])
    scope = {"cluster_id": lab.cluster.pk, "kind": "Node"}
    gone = sweep(OBJECTS, scope, [("", "a"), ("", "never-seen")], epoch=2)
    assert sorted(gone) == [("", "b"), ("", "c")]
    assert names() == ["a", "q"]
    assert sweep(OBJECTS, scope, [], epoch=2) == [("", "a")]


def test_a_row_written_since_the_list_began_stays(lab):
    merge(OBJECTS, [row(lab.cluster, "old", epoch=1), row(lab.cluster, "new", epoch=2)])
    scope = {"cluster_id": lab.cluster.pk, "kind": "Node"}
    sweep(OBJECTS, scope, [], epoch=2)
    assert names() == ["new"]


def test_nothing_costs_nothing(lab, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert merge(OBJECTS, []) == 0


@pytest.mark.parametrize("table", [OBJECTS, WORKLOADS, EVENTS], ids=lambda table: table.name)
def test_a_table_names_every_column_that_must_have_a_value(table: Table):
    fields = table.model._meta.local_fields
    known = {each.column for each in fields}
    assert set(table.columns) <= known
    required = {each.column for each in fields if not each.null and not each.primary_key}
    assert required <= set(table.columns)


@given(TEXTS, st.dictionaries(TEXTS, TEXTS | st.none() | st.booleans(), max_size=3))
def test_texts_of_any_kind_arrive_as_they_are(text, body):
    written = as_text([[text, None, json.dumps(body)]])
    assert written.count("\n") == 1
    found = [read(each) for each in written.removesuffix("\n").split("\t")]
    assert found[0] == clean(text)
    assert found[1] is None
    assert json.loads(found[2]) == clean(body)


def read(field):
    """Read a field as the text form of COPY is read."""
    letters = {"t": "\t", "n": "\n", "r": "\r"}
    if field == "\\N":
        return None
    return re.sub(r"\\(.)", lambda found: letters.get(found[1], found[1]), field, flags=re.S)


def clean(value):
    """Leave out the null character, which PostgreSQL cannot hold."""
    if isinstance(value, dict):
        return {clean(key): clean(each) for key, each in value.items()}
    return value.replace("\0", "") if isinstance(value, str) else value


@pytest.mark.parametrize(
    "text",
    ["a\tb\nc\r\n", "\"quoted\", 'single'", "\\N", "\\.", "", " ", "é漢😀", "NULL", "a\0b", "{}"],
)
def test_odd_texts_survive_the_way_into_the_database(lab, text):
    body = {"said": text, "deep": [text, {"x\0": "\\u0000"}]}
    merge(OBJECTS, [row(lab.cluster, "a", body)])
    found = ObservedObject.objects.get()
    assert found.body == {"said": clean(text), "deep": [clean(text), {"x": "\\u0000"}]}


@pytest.mark.django_db(transaction=True)
def test_parts_are_merged_while_the_next_is_made(lab):
    merge(OBJECTS, [row(lab.cluster, "a")])
    with transaction.atomic(), Merging(OBJECTS) as merging:
        merging.add([row(lab.cluster, "a"), row(lab.cluster, "b")])
        merging.add([])
        merging.add([row(lab.cluster, "c"), row(lab.cluster, "d")])
        merging.add([row(lab.cluster, "e")], last=True)
    assert merging.rows == 4
    assert names() == list("abcde")


def merged(*parts, then=None):
    with transaction.atomic(), Merging(OBJECTS) as merging:
        for each in parts:
            merging.add(each)
        if then is not None:
            raise then


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("bad", [0, 1])
def test_an_error_of_any_part_leaves_nothing_behind(lab, bad):
    parts = [[row(lab.cluster, "a")], [row(lab.cluster, "b")]]
    parts[bad].append(row(lab.cluster, "n" * 300))
    with pytest.raises(DataError):
        merged(*parts)
    assert names() == []


@pytest.mark.django_db(transaction=True)
def test_an_error_of_the_caller_is_the_one_that_is_raised(lab):
    with pytest.raises(KeyError):
        merged([row(lab.cluster, "n" * 300)], then=KeyError())
    assert names() == []
