"""The pages about people: accounts, roles, members, the own password."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from tenants import access
from tenants.models import AuditEvent, Membership, User
from tenants.services import brake
from tests.cast import PASSWORD


@pytest.fixture
def as_(client, people):
    def enter(name):
        client.force_login(getattr(people, name))
        return client

    return enter


NEW = {"username": "Ivy", "display_name": "Ivy", "email": "ivy@example.org", "password": PASSWORD}


def test_lists_people_with_their_roles(as_, django_assert_max_num_queries):
    erin = as_("erin")
    with django_assert_max_num_queries(12):
        page = erin.get("/people/").content.decode()

    assert "administrator" in page
    assert "Language (lead)" in page


def test_adds_a_person_who_can_sign_in(as_, client):
    answer = as_("dave").post("/people/new", NEW)

    user = User.objects.get(username="ivy")
    assert answer.url == f"/people/{user.pk}/"
    client.logout()
    assert client.post("/login/", {"username": "ivy", "password": PASSWORD}).status_code == 302


@pytest.mark.parametrize("name", ["i.vy_1@example.org", "ivy+gpu", "ivy-2", "7ivy"])
def test_takes_names_of_plain_letters(as_, name):
    assert as_("dave").post("/people/new", {**NEW, "username": name}).status_code == 302
    assert User.objects.filter(username=name).exists()


BAD = {
    "taken": ({"username": "ALICE"}, "username"),
    "empty": ({"username": " "}, "username"),
    "space": ({"username": "a b"}, "username"),
    "nul": ({"username": "a\0b"}, "username"),
    "weak": ({"password": "123456789012"}, "password"),
    "too long": ({"password": "x" * 2000}, "password"),
    "e-mail": ({"email": "nobody"}, "email"),
    "look-alike": ({"username": "\u0430lice"}, "username"),
    "wide": ({"username": "\uff29vy"}, "username"),
    "filler": ({"username": "\u3164"}, "username"),
    "filler inside": ({"username": "i\u3164vy"}, "username"),
    "line end": ({"username": "ivy\n"}, "username"),
    "dots": ({"username": "..."}, "username"),
    "plus": ({"username": "+"}, "username"),
    "option": ({"username": "-1"}, "username"),
    "spaces as password": ({"password": " " * 14}, "password"),
    "nothing as password": ({"password": "\u200b\u3164" * 7}, "password"),
    "hidden character": ({"display_name": "a\u202eb"}, "display_name"),
}


@pytest.mark.parametrize(("change", "field"), BAD.values(), ids=BAD)
def test_refuses_a_bad_account_at_its_field(as_, change, field):
    answer = as_("dave").post("/people/new", {**NEW, **change})

    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert PASSWORD not in answer.content.decode()


def test_gives_and_takes_a_role(as_, people):
    dave, url = as_("dave"), f"/people/{people.heidi.pk}/role"

    dave.post(url, {"role": "auditor", "step": "give"})
    assert access.rights(people.heidi).platform == {"auditor"}
    dave.post(url, {"role": "auditor", "step": "take"})
    assert not access.rights(people.heidi)


@pytest.mark.parametrize(
    "sent", [{}, {"role": "king", "step": "give"}, {"role": "admin", "step": "x"}]
)
def test_changes_nothing_on_nonsense(as_, people, sent):
    answer = as_("dave").post(f"/people/{people.heidi.pk}/role", sent)

    assert answer.status_code == 302
    assert not access.rights(people.heidi)


def test_nobody_gives_roles_to_themselves(as_, people):
    answer = as_("dave").post(
        f"/people/{people.dave.pk}/role", {"role": "approver", "step": "give"}
    )

    assert answer.status_code == 403
    assert access.rights(people.dave).platform == {"admin"}
    assert AuditEvent.objects.filter(action="access.refused", actor=people.dave).exists()


def test_closes_an_account(as_, people, client):
    as_("dave").post(f"/people/{people.alice.pk}/close")

    client.force_login(people.alice)
    assert client.get("/catalog/").status_code == 302


def test_last_administrator_stays(as_, people):
    answer = as_("dave").post(f"/people/{people.dave.pk}/close")

    assert answer.status_code == 422
    people.dave.refresh_from_db()
    assert people.dave.is_active


def test_lead_adds_and_removes_a_user(as_, people):
    alice, url = as_("alice"), "/t/nlp/people/change"

    alice.post(url, {"username": "HEIDI", "role": "user", "step": "add"})
    assert Membership.objects.filter(user=people.heidi, tenant=people.nlp, role="user").exists()
    alice.post(url, {"username": "heidi", "role": "user", "step": "remove"})
    assert not Membership.objects.filter(user=people.heidi).exists()


def test_lead_names_no_leads(as_, people):
    answer = as_("alice").post(
        "/t/nlp/people/change", {"username": "heidi", "role": "lead", "step": "add"}
    )

    assert answer.status_code == 403
    assert not Membership.objects.filter(user=people.heidi).exists()


@pytest.mark.parametrize("name", ["nobody", "", "a\0b", "x" * 500, "<script>"])
def test_says_that_nobody_has_the_name(as_, name):
    answer = as_("alice").post(
        "/t/nlp/people/change", {"username": name, "role": "user", "step": "add"}
    )

    assert answer.status_code == 422
    assert answer.context["form"].errors["username"]


def test_role_taken_between_form_and_answer_counts(as_, people):
    alice = as_("alice")
    alice.get("/t/nlp/people/")
    Membership.objects.filter(user=people.alice).delete()

    answer = alice.post(
        "/t/nlp/people/change", {"username": "heidi", "role": "user", "step": "add"}
    )

    assert answer.status_code == 404


def test_says_that_a_step_could_not_be_read(as_, people):
    sent = {"username": "heidi", "role": "user", "step": "zz"}
    answer = as_("alice").post("/t/nlp/people/change", sent)

    assert answer.status_code == 422
    assert "That could not be read. Nothing was changed." in answer.content.decode()
    assert not Membership.objects.filter(user=people.heidi).exists()


def test_changes_the_own_password(as_, people, client):
    answer = as_("alice").post("/password/", {"old": PASSWORD, "new": "another-long-password"})

    assert answer.status_code == 302
    people.alice.refresh_from_db()
    assert people.alice.check_password("another-long-password")
    assert client.get("/password/").status_code == 200
    event = AuditEvent.objects.get(action="person.password")
    assert "another" not in str(event.data)


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("wrong", "another-long-password", "old"),
        (PASSWORD, "short", "new"),
        (PASSWORD, " " * 14, "new"),
        (PASSWORD, "\u200b" * 14, "new"),
    ],
)
def test_refuses_a_bad_change_of_password(as_, people, old, new, field):
    answer = as_("alice").post("/password/", {"old": old, "new": new})

    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]


def test_guessing_the_old_password_gets_slower(as_):
    alice = as_("alice")
    for _ in range(brake.FREE_FOR_PAIR + 1):
        alice.post("/password/", {"old": "wrong", "new": "another-long-password"})

    answer = alice.post("/password/", {"old": PASSWORD, "new": "another-long-password"})

    assert "Too many tries" in str(answer.context["form"].errors)
    assert "sign in" not in str(answer.context["form"].errors)


@pytest.mark.parametrize(("wait", "words"), [(1, "in 1 second."), (2, "in 2 seconds.")])
def test_a_wait_is_said_in_good_english(wait, words):
    now = datetime(2026, 11, 5, 12, 0, tzinfo=UTC)
    with time_machine.travel(now, tick=False):
        assert str(brake.TooManyTries(now + timedelta(seconds=wait)).message).endswith(words)
