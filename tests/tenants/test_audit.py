"""The chain: who writes it, who cannot, and what the proof finds."""

import threading
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from portal.web.errors import Refused, Stale
from tenants import audit
from tenants.models import AuditEvent, Revision


def add(scope="tenant:nlp", **data):
    with transaction.atomic():
        return audit.record("request.submit", actor=None, scope=scope, obj=None, data=data)


@pytest.mark.django_db
def test_numbers_a_scope_without_gaps():
    assert [add().seq for _ in range(3)] == [1, 2, 3]
    assert add(scope="tenant:cv").seq == 1


@pytest.mark.django_db
def test_proves_an_untouched_chain():
    for number in range(5):
        last = add(number=number)

    report = audit.verify("tenant:nlp")

    assert report.intact
    assert (report.intact_to, report.head) == (5, last.hash)


@pytest.mark.django_db
def test_proves_an_empty_chain():
    assert audit.verify("tenant:nobody") == audit.Report("tenant:nobody", 0, audit.FIRST)


@pytest.mark.django_db
def test_refuses_an_unknown_action():
    with pytest.raises(ValueError, match="ACTIONS"), transaction.atomic():
        audit.record("request.invented", actor=None, scope="platform", obj=None)


@pytest.mark.django_db(transaction=True)
def test_refuses_to_write_outside_a_transaction():
    with pytest.raises(transaction.TransactionManagementError):
        audit.record("request.submit", actor=None, scope="platform", obj=None)


@pytest.mark.django_db
def test_names_the_person_in_text(people):
    with transaction.atomic():
        event = audit.record(
            "request.submit", actor=people.alice, scope="tenant:nlp", obj=people.nlp
        )

    assert event.actor == people.alice
    assert event.actor_name == "Alice (alice)"
    assert (event.object_type, event.object_id) == ("tenant", "nlp")


@pytest.mark.django_db
def test_keeps_odd_text_as_text():
    event = add(text="a\0b\ud800c\u202e", when=timezone.now(), names={"b", "a"}, nothing=None)
    event.refresh_from_db()

    assert event.data["text"] == "a\\x00b\\ud800c\u202e"
    assert event.data["names"] == ["a", "b"]
    assert audit.verify("tenant:nlp").intact


class ChainOfAnything(TestCase):
    @given(
        st.dictionaries(
            st.text(max_size=20),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.text() | st.dates(),
                lambda inner: st.lists(inner, max_size=3),
                max_leaves=5,
            ),
            max_size=3,
        )
    )
    def test_is_intact_after_any_data(self, data):
        add(scope="tenant:any", **{"data": data})

        assert audit.verify("tenant:any").intact


# --- tampering ------------------------------------------------------------------------------------

SQL = {
    "update an event": "UPDATE tenants_auditevent SET actor_name = 'nobody'",
    "delete an event": "DELETE FROM tenants_auditevent",
    "empty the trail": "TRUNCATE tenants_auditevent CASCADE",
    "update a revision": "UPDATE tenants_revision SET summary = 'nothing'",
    "delete a revision": "DELETE FROM tenants_revision",
}


@pytest.mark.parametrize("sql", SQL.values(), ids=SQL)
def test_role_of_the_application_cannot(people, sql):
    with pytest.raises(DatabaseError, match="permission denied"), transaction.atomic():
        connection.cursor().execute(sql)


@pytest.mark.owner
@pytest.mark.parametrize("sql", SQL.values(), ids=SQL)
def test_owner_is_stopped_by_the_trigger(people, sql):
    connection.cursor().execute("SET CONSTRAINTS ALL IMMEDIATE")
    with pytest.raises(DatabaseError, match="is forbidden"), transaction.atomic():
        connection.cursor().execute(sql)


def tamper(**changes):
    """Change a row as somebody with all rights and the trigger off would."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        AuditEvent.objects.filter(scope="tenant:nlp", seq=3).update(**changes)


CHANGES = {
    "text": {"actor_name": "somebody else"},
    "time": {"at": timezone.now() + timedelta(seconds=1)},
    "data": {"data": {"number": 99}},
    "outcome": {"outcome": "refused"},
    "link": {"previous_hash": "f" * 64},
    "number": {"seq": 30},
    "scope": {"scope": "tenant:cv"},
}


@pytest.mark.owner
@pytest.mark.django_db
@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_finds_a_changed_row(changes):
    for number in range(5):
        add(number=number)
    tamper(**changes)

    report = audit.verify("tenant:nlp")

    assert not report.intact
    assert report.intact_to == 2


# --- many at once -----------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_stays_one_chain_with_eight_writers():
    start = threading.Barrier(8)

    def write():
        start.wait()
        for number in range(10):
            add(number=number)
        connection.close()

    writers = [threading.Thread(target=write) for _ in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    report = audit.verify("tenant:nlp")
    assert report.intact
    assert report.intact_to == 80


# --- refusals -----------------------------------------------------------------------------------------


def refuse(error):
    with (
        audit.refusals(
            "plan.approve", actor=None, scope="platform", obj=None, data={"digest": "d"}
        ),
        transaction.atomic(),
    ):
        add(scope="platform")
        raise error


@pytest.mark.django_db(transaction=True)
def test_keeps_a_refusal_whose_business_rolled_back():
    with pytest.raises(Stale):
        refuse(Stale("too late", code="GP-1101"))

    event = AuditEvent.objects.get()
    assert (event.action, event.outcome) == ("plan.approve", "refused")
    assert event.data == {"code": "GP-1101", "message": "too late", "digest": "d"}


@pytest.mark.django_db(transaction=True)
def test_keeps_a_refusal_once():
    error = Refused("no")
    with (
        pytest.raises(Refused),
        audit.refusals("plan.reject", actor=None, scope="platform", obj=None),
    ):
        refuse(error)

    assert AuditEvent.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_refusal_does_not_wait_for_a_held_chain():
    held, done = threading.Event(), threading.Event()

    def hold():
        with transaction.atomic():
            add(scope="platform")
            held.set()
            done.wait(10)
        connection.close()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(10)
    with (
        pytest.raises(Refused),
        audit.refusals("plan.reject", actor=None, scope="platform", obj=None),
    ):
        raise Refused("no")
    done.set()
    holder.join()

    assert AuditEvent.objects.filter(outcome="refused").count() == 0


@pytest.mark.django_db
def test_every_action_has_words():
    assert all(str(words) for words in audit.ACTIONS.values())
    assert Revision.objects.count() == 0
