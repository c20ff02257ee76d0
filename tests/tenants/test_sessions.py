"""A session is one row with its person: one query says who asks, and nothing of it outlives the row."""

import pytest
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tenants.models import Membership, Session, User
from tenants.services import people as accounts
from tenants.sessions import SessionStore

URL = "/password/"


@pytest.fixture
def bob(people, client):
    client.force_login(people.bob)
    return client


def asked(client, url=URL):
    """Ask for a page of a person, and give its status and its queries."""
    with CaptureQueriesContext(connection) as caught:
        answer = client.get(url)
    return answer.status_code, [each["sql"] for each in caught]


def test_session_person_and_roles_are_one_query(bob, people):
    status, queries = asked(bob)

    assert status == 200
    whole = [sql for sql in queries if "tenants_session" in sql]
    assert len(whole) == 1
    assert "tenants_membership" in whole[0]
    assert not [sql for sql in queries if 'FROM "tenants_user"' in sql]
    assert not [sql for sql in queries if sql.startswith(("INSERT", "UPDATE", "DELETE"))]


def test_the_row_knows_its_person(bob, people):
    assert Session.objects.get().user == people.bob


def test_a_session_of_nobody_is_kept_as_well(db):
    store = SessionStore()
    store["said"] = "goodbye"
    store.save()

    again = SessionStore(store.session_key)
    assert (again["said"], again.person) == ("goodbye", None)
    assert Session.objects.get().user is None


def test_a_deleted_session_is_over_at_once(bob):
    assert asked(bob)[0] == 200
    Session.objects.all().delete()

    assert asked(bob)[0] == 302


def test_an_expired_session_is_over(bob):
    Session.objects.update(expire_date="2020-01-01T00:00:00Z")

    assert asked(bob)[0] == 302


def test_a_new_password_ends_sessions_of_before(bob, people):
    people.bob.set_password("quite another password")
    people.bob.save()

    assert asked(bob)[0] == 302
    assert not Session.objects.exists()


def test_a_closed_account_is_out_with_the_next_request(bob, people):
    accounts.deactivate(actor=people.dave, user=people.bob)

    assert asked(bob)[0] == 302


def test_a_session_goes_with_its_person(bob, people):
    stranger = User.objects.create(username="stranger")
    store = SessionStore()
    store[SESSION_KEY] = str(stranger.pk)
    store.save()
    stranger.delete()

    assert not Session.objects.filter(pk=store.session_key).exists()


def test_a_session_signed_with_an_old_key_is_carried_over(bob, settings):
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key of at least fifty characters, 0123456789"

    assert asked(bob)[0] == 200
    assert asked(bob)[0] == 200


def test_a_person_of_another_row_is_not_believed(bob, people):
    """The column only saves a query; who signed in stands in the signed data."""
    Session.objects.update(user=people.dave)

    answer = bob.get(URL)

    assert answer.wsgi_request.user == people.bob


def test_a_role_taken_away_is_gone_with_the_next_request(bob, people):
    url = "/t/nlp/"
    assert asked(bob, url)[0] == 200
    Membership.objects.filter(user=people.bob).delete()

    assert asked(bob, url)[0] == 404


def test_a_key_that_nobody_gave_is_no_session(client, db):
    client.cookies[settings.SESSION_COOKIE_NAME] = "x" * 32

    assert asked(client)[0] == 302
