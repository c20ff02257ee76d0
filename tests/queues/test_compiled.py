"""Queries that are put together once: the values of each time, the same rows as without."""

import threading

import pytest
from django.db import connection
from django.db.models import F, Q

from queues.compiled import Among, Once, number, text
from tenants.models import Queue
from tests.queues import seen

pytestmark = pytest.mark.django_db


@pytest.fixture
def filled(lab):
    seen.lab(lab.cluster)
    return lab


def test_each_time_with_its_own_values(filled, django_assert_num_queries):
    made = []
    ask = Once(lambda: made.append(1) or Queue.objects.filter(name=text("name")))
    for name in ("nlp-train", "cv-train", "nlp-train", "none", "%s", "it's"):
        with django_assert_num_queries(1):
            found = ask(name=name)
        assert found == list(Queue.objects.filter(name=name))
    assert made == [1]


def test_rows_have_what_was_added_to_them(filled, django_assert_num_queries):
    rows = Queue.objects.select_related("tenant").only("name", "tenant__slug")
    row = Once(lambda: rows.annotate(also=F("name")).filter(pk=number("pk")))(
        pk=Queue.objects.get(name="nlp-train").pk
    )[0]
    with django_assert_num_queries(0):
        assert (row.name, row.also, row.tenant.slug) == ("nlp-train", "nlp-train", "nlp")
    assert row.get_deferred_fields() >= {"spec", "purpose"}


def test_any_number_of_values_in_one_place(filled):
    names = Queue.objects.order_by("name").values_list("name", flat=True)
    ask = Once(lambda: names.filter(Among(F("name"), text("some")) | Q(pk=number("pk"))))
    assert ask(some=[], pk=0) == []
    assert ask(some=["nlp-train", "'); --", "cv-train", "a,b", "{}"], pk=0) == [
        "cv-train", "nlp-train",
    ]  # fmt: skip
    assert ask(some=["cv-train"], pk=Queue.objects.get(name="nlp-train").pk) == [
        "cv-train", "nlp-train",
    ]  # fmt: skip


def test_two_queries_as_one(filled):
    rows = Queue.objects.values_list("name", "pk").order_by()
    ask = Once(lambda: rows.filter(name=text("a")).union(rows.filter(name=text("b")), all=True))
    assert sorted(name for name, _ in ask(a="cv-train", b="nlp-train")) == ["cv-train", "nlp-train"]


def test_a_value_that_is_missing_is_an_error(filled):
    with pytest.raises(KeyError):
        Once(lambda: Queue.objects.filter(name=text("name")))(names="nlp-train")


@pytest.mark.django_db(transaction=True)
def test_each_thread_asks_on_its_own_connection(filled):
    ask = Once(lambda: Queue.objects.filter(name=text("name")))
    assert ask(name="nlp-train")
    found = []

    def run():
        try:
            found.append((ask(name="nlp-train"), connection.connection))
        finally:
            connection.close()

    other = threading.Thread(target=run)
    other.start()
    other.join()
    assert found[0][0] == ask(name="nlp-train")
    assert found[0][1] is not connection.connection
