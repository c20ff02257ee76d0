"""Signing in: one answer for everything that is wrong, slower with each try, never locked."""

import threading
from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.utils import timezone
from structlog.testing import capture_logs

from tenants.models import AuditEvent, SignInBrake, User
from tenants.services import brake, people
from tests.cast import PASSWORD

URL = "/login/"


def post(client, username="alice", password=PASSWORD, **more):
    return client.post(URL, {"username": username, "password": password}, **more)


@pytest.mark.django_db
def test_shows_the_form(client):
    answer = client.get(URL)

    assert answer.status_code == 200
    assert b'name="password"' in answer.content


def test_signs_in_and_records_it(client, people):
    answer = post(client)

    assert (answer.status_code, answer.url) == (302, "/")
    assert client.session["_auth_user_id"] == str(people.alice.pk)
    event = AuditEvent.objects.get(action="person.sign_in")
    assert (event.actor, event.scope) == (people.alice, "platform")


def test_gives_a_new_session_key(client, people):
    client.get(URL)
    session = client.session
    session["planted"] = "1"
    session.save()
    before = session.session_key
    client.cookies["gpuportal-sessionid"] = before

    post(client)

    assert client.session.session_key != before


@pytest.mark.parametrize("username", ["ALICE", " alice ", "ＡＬＩＣＥ"])  # noqa: RUF001
def test_takes_a_name_in_any_spelling(client, people, username):
    assert post(client, username).status_code == 302


def test_signs_out_by_post_only(client, people):
    post(client)

    assert client.get("/logout/").status_code == 405
    answer = client.post("/logout/")

    assert (answer.status_code, answer.url) == (302, URL)
    assert "_auth_user_id" not in client.session
    assert AuditEvent.objects.filter(action="person.sign_out", actor=people.alice).exists()


def errors_of(answer):
    return [str(error) for error in answer.context["form"].non_field_errors()]


WRONG = {
    "unknown name": ("nobody", PASSWORD),
    "wrong password": ("alice", "wrong"),
    "long password": ("alice", "x" * 1_000_000),
    "closed account": ("heidi", PASSWORD),
    "nul": ("alice", "a\0b"),
    "nul in name": ("al\0ice", PASSWORD),
    "surrogate": ("al\ud800ice".encode("utf-8", "surrogatepass").decode("utf-8", "replace"), "x"),
}


@pytest.mark.parametrize(("username", "password"), WRONG.values(), ids=WRONG)
def test_answers_all_that_is_wrong_alike(client, people, username, password):
    people.heidi.is_active = False
    people.heidi.save(update_fields=["is_active"])

    answer = post(client, username, password)

    assert answer.status_code == 422
    assert errors_of(answer) == ["The name or the password is wrong."]
    assert "_auth_user_id" not in client.session


@pytest.mark.parametrize("sent", ["username=alice&username=bob&password=x", "username=&password="])
def test_refuses_a_broken_form(client, people, sent):
    answer = client.post(URL, sent, content_type="application/x-www-form-urlencoded")

    assert answer.status_code == 422
    assert answer.context["form"].errors["username"]


# --- where to go ----------------------------------------------------------------------------------

NEXT = {
    "/jobs/": "/jobs/",
    "/t/nlp/?a=1": "/t/nlp/?a=1",
    "//evil.example": "/",
    "https://evil.example/": "/",
    "https:evil.example": "/",
    "\\\\evil.example": "/",
    "/\\evil.example": "/",
    "/\tevil": "/",
    "javascript:alert(1)": "/",
    "evil": "/",
    "/a\r\nSet-Cookie: x=y": "/",
    "": "/",
}


@pytest.mark.parametrize(("target", "wanted"), NEXT.items())
def test_goes_only_to_pages_of_its_own(client, people, target, wanted):
    answer = client.post(URL, {"username": "alice", "password": PASSWORD, "next": target})

    assert answer.url == wanted


def test_sends_a_signed_in_person_on(client, people):
    client.force_login(people.alice)

    assert client.get(f"{URL}?next=/jobs/").url == "/jobs/"
    assert client.get(f"{URL}?next=//evil.example").url == "/"


# --- the brake ------------------------------------------------------------------------------------


def test_gets_slower_with_each_try(client, people):
    for _ in range(brake.FREE_FOR_PAIR + 1):
        assert post(client, password="wrong").status_code == 422

    answer = post(client)

    assert answer.status_code == 429
    assert "Too many tries" in errors_of(answer)[0]


def test_is_the_same_for_a_name_that_nobody_has(client, people):
    for _ in range(brake.FREE_FOR_PAIR + 1):
        post(client, "nobody", "wrong")

    assert post(client, "nobody").status_code == 429


def test_lets_the_owner_in_after_the_wait(client, people):
    for _ in range(brake.FREE_FOR_PAIR + 3):
        post(client, password="wrong")

    with time_machine.travel(timezone.now() + brake.LONGEST_WAIT + timedelta(seconds=1)):
        assert post(client).status_code == 302
    assert not SignInBrake.objects.exclude(tries=0).filter(until__isnull=False).exists()


def test_lets_the_owner_in_from_elsewhere(client, people):
    for _ in range(brake.FREE_FOR_PAIR + 1):
        post(client, password="wrong", REMOTE_ADDR="192.0.2.7")

    assert post(client, REMOTE_ADDR="192.0.2.8").status_code == 302


def test_counts_an_address_over_all_names(client, people):
    for number in range(brake.FREE_FOR_ADDRESS + 1):
        post(client, f"name-{number}", "wrong")

    assert post(client).status_code == 429


def test_believes_no_header_about_the_address(client, people):
    for number in range(brake.FREE_FOR_PAIR + 1):
        post(client, password="wrong", headers={"X-Forwarded-For": f"192.0.2.{number}"})

    assert post(client, headers={"X-Forwarded-For": "198.51.100.1"}).status_code == 429


def test_believes_its_own_proxy(client, people, settings):
    settings.TRUSTED_PROXIES = 1
    for number in range(brake.FREE_FOR_PAIR + 1):
        forwarded = {"X-Forwarded-For": f"203.0.113.{number}, 192.0.2.7"}
        post(client, password="wrong", headers=forwarded)

    assert post(client, headers={"X-Forwarded-For": "192.0.2.7"}).status_code == 429
    assert post(client, headers={"X-Forwarded-For": "192.0.2.7, 192.0.2.9"}).status_code == 302


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("", "what?", True),
    ],
)
def test_counts_a_network_of_version_6_as_one(one, other, same):
    assert (brake._keys("a", one) == brake._keys("a", other)) is same


@pytest.mark.django_db(transaction=True)
def test_gives_a_burst_no_more_guesses():
    User.objects.create_user("alice", password=PASSWORD)
    start, refused = threading.Barrier(8), []

    def guess():
        start.wait()
        for _ in range(3):
            try:
                people.sign_in(username="alice", password="wrong", address="192.0.2.7")
            except brake.TooManyTries:
                refused.append("slow down")
            except people.SignInRefused:
                pass
        connection.close()

    threads = [threading.Thread(target=guess) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(refused) >= 24 - brake.FREE_FOR_PAIR - 1


def test_a_refusal_is_in_the_log_and_a_name_that_nobody_has_is_not(client, people):
    with capture_logs() as lines:
        post(client, password="wrong")
        post(client, username="hunter2-my-password", password="wrong")
    refused = [each for each in lines if each["event"] == "sign_in_refused"]

    assert [each["user_id"] for each in refused] == [people.alice.pk, None]
    assert "hunter2" not in str(lines)
