"""Accounts and roles: who may give them, and what stays behind in the trail."""

import pytest
from django.core.exceptions import ValidationError

from portal.web.errors import NotAllowed, Refused
from tenants import access
from tenants.models import AuditEvent, User
from tenants.services import people as service
from tests.cast import PASSWORD


def test_adds_a_person(people):
    user = service.create_person(
        actor=people.dave, username="Ivy", password=PASSWORD, display_name="Ivy"
    )

    assert user.username == "ivy"
    assert user.check_password(PASSWORD)
    event = AuditEvent.objects.get(action="person.create")
    assert (event.actor, event.data) == (people.dave, {"username": "ivy"})


@pytest.mark.parametrize("name", ["alice", "ALICE", "ａｌｉｃｅ"])  # noqa: RUF001
def test_refuses_a_name_in_another_spelling(people, name):
    with pytest.raises(service.NameTaken):
        service.create_person(actor=people.dave, username=name, password=PASSWORD)


@pytest.mark.parametrize("password", ["", "short", "123456789012345", "ivy-ivy-ivy1"])
def test_refuses_a_weak_password(people, password):
    with pytest.raises(ValidationError):
        service.create_person(actor=people.dave, username="ivy-ivy-ivy", password=password)


@pytest.mark.parametrize("name", ["", "a b", "a\0b", "x" * 151, "a\u202eb"])
def test_refuses_a_bad_name(people, name):
    with pytest.raises(ValidationError):
        service.create_person(actor=people.dave, username=name, password=PASSWORD)


@pytest.mark.parametrize("name", ["alice", "bob", "carol", "erin", "heidi"])
def test_only_an_administrator_adds_people(people, name):
    with pytest.raises(access.Denied):
        service.create_person(actor=getattr(people, name), username="ivy", password=PASSWORD)
    assert not User.objects.filter(username="ivy").exists()


def test_lead_adds_users_but_no_leads(people):
    service.add_member(actor=people.alice, tenant=people.nlp, user=people.heidi, role="user")
    assert access.tenants(people.heidi).get() == people.nlp

    with pytest.raises(access.Denied):
        service.add_member(actor=people.alice, tenant=people.nlp, user=people.heidi, role="lead")
    with pytest.raises(access.Denied):
        service.add_member(actor=people.alice, tenant=people.cv, user=people.heidi, role="user")
    with pytest.raises(Refused):
        service.add_member(actor=people.alice, tenant=people.nlp, user=people.heidi, role="king")


def test_removing_a_member_counts_at_once(people):
    service.remove_member(actor=people.dave, tenant=people.nlp, user=people.alice, role="lead")

    assert not access.can(people.alice, "request.create", people.nlp)
    assert not access.tenants(people.alice).exists()
    assert AuditEvent.objects.filter(action="member.remove", scope="tenant:nlp").count() == 1


def test_same_role_twice_is_one_event(people):
    for _ in range(2):
        service.add_member(actor=people.dave, tenant=people.nlp, user=people.heidi, role="user")

    assert AuditEvent.objects.filter(action="member.add").count() == 1


def test_gives_and_takes_a_platform_role(people):
    service.grant_role(actor=people.dave, user=people.heidi, role="auditor")
    assert access.can(people.heidi, "audit.verify")

    service.take_role(actor=people.dave, user=people.heidi, role="auditor")
    assert not access.rights(people.heidi)


def test_nobody_changes_own_roles(people):
    with pytest.raises(NotAllowed, match="GP-1305"):
        service.grant_role(actor=people.dave, user=people.dave, role="approver")


@pytest.mark.parametrize("name", ["alice", "carol", "erin"])
def test_only_an_administrator_gives_roles(people, name):
    with pytest.raises(access.Denied):
        service.grant_role(actor=getattr(people, name), user=people.heidi, role="admin")


def test_keeps_the_last_administrator(people):
    service.grant_role(actor=people.dave, user=people.heidi, role="admin")
    service.take_role(actor=people.heidi, user=people.dave, role="admin")

    with pytest.raises(service.LastAdmin):
        service.deactivate(actor=people.heidi, user=people.heidi)


def test_closed_account_has_no_rights(people, client):
    client.force_login(people.alice)
    service.deactivate(actor=people.dave, user=people.alice)
    people.alice.refresh_from_db()

    assert not access.rights(people.alice)
    assert client.get("/audit/").status_code == 302
