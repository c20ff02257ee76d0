"""People: accounts, memberships, platform roles, signing in and out.

Accounts are local today. An identity provider comes as another authentication backend that
writes the same membership rows; nothing below asks where a row came from.
"""

from __future__ import annotations

from http import HTTPStatus

import structlog
from django.contrib.auth import authenticate, password_validation
from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _

from portal.web.errors import DomainError, NotAllowed, Refused
from tenants import access, audit
from tenants.models import Membership, PlatformRole, Tenant, User
from tenants.services import brake
from tenants.signals import rights_changed

log = structlog.get_logger(__name__)

# Longer passwords only cost time: hashing reads all of it.
LONGEST_PASSWORD = 1024


class SignInRefused(NotAllowed):
    """One answer for an unknown name, a wrong password and a closed account."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY
    code = "GP-1301"
    # Not a refusal of a right: it is in the log, without a name that nobody has, because people
    # type passwords there.
    keep = False


class NameTaken(Refused):
    """There is an account with this name in some spelling."""

    code = "GP-1302"


class LastAdmin(Refused):
    """Without an administrator nobody could give a role again."""

    code = "GP-1303"


# --- signing in -------------------------------------------------------------------------------------


def sign_in(*, username: str, password: str, address: str) -> User:
    """Return the person, or refuse in the same way whatever was wrong.

    The try is counted before the password is looked at, so that a burst of tries at the same
    moment gets no more guesses than one after the other.
    """
    name = User.normalize_username(username)
    try:
        brake.take(name=name, address=address)
    except DomainError as error:
        log.warning("sign_in_held_back", address=address, code=error.code)
        raise
    known = len(password) <= LONGEST_PASSWORD and "\0" not in name + password
    user = authenticate(username=name, password=password) if known else None
    if not isinstance(user, User):
        found = known and User.objects.filter(username=name).first()
        log.warning("sign_in_refused", address=address, user_id=found.pk if found else None)
        raise SignInRefused(_("The name or the password is wrong."))
    brake.release(name=name, address=address)
    with transaction.atomic():
        audit.record("person.sign_in", actor=user, scope=audit.PLATFORM, obj=user)
    return user


@transaction.atomic
def sign_out(*, actor: User) -> None:
    """Record that a person has left; the view ends the session."""
    audit.record("person.sign_out", actor=actor, scope=audit.PLATFORM, obj=actor)


# --- accounts -----------------------------------------------------------------------------------------


def create_person(
    *, actor: User | None, username: str, password: str, display_name: str = "", email: str = ""
) -> User:
    """Add a local account. ``actor`` is None only for the very first one, from the shell."""
    if actor is not None:
        access.require(actor, "people.grant")
    user = User(username=User.normalize_username(username), display_name=display_name, email=email)
    user.full_clean(exclude=["password"], validate_unique=False, validate_constraints=False)
    password_validation.validate_password(password, user)
    user.set_password(password)
    try:
        with transaction.atomic():
            user.save(force_insert=True)
            audit.record(
                "person.create",
                actor=actor,
                scope=audit.PLATFORM,
                obj=user,
                data={"username": user.username},
            )
    except IntegrityError:
        raise NameTaken(_("This name is taken."), field="username") from None
    return user


def change_password(*, actor: User, old: str, new: str, address: str) -> User:
    """Set a new password for oneself; the old one is asked again, whoever holds the session."""
    brake.take(name=actor.username, address=address)
    if len(old) > LONGEST_PASSWORD or not actor.check_password(old):
        raise SignInRefused(_("The old password is wrong."), code="GP-1307", field="old")
    password_validation.validate_password(new, actor)
    brake.release(name=actor.username, address=address)
    with transaction.atomic():
        actor.set_password(new)
        actor.save(update_fields=["password"])
        audit.record("person.password", actor=actor, scope=audit.PLATFORM, obj=actor)
        rights_changed.send(User, user_id=actor.pk)
    return actor


@transaction.atomic
def deactivate(*, actor: User, user: User) -> None:
    """Close an account: its sessions end with the next request."""
    access.require(actor, "people.grant")
    _keep_an_admin(user)
    user.is_active = False
    user.save(update_fields=["is_active"])
    audit.record("person.deactivate", actor=actor, scope=audit.PLATFORM, obj=user)
    rights_changed.send(User, user_id=user.pk)


# --- roles ----------------------------------------------------------------------------------------------


@transaction.atomic
def add_member(*, actor: User | None, tenant: Tenant, user: User, role: str) -> Membership:
    """Give a person a role in a tenant. Leads name users and finance, administrators leads."""
    _require_member_right(actor, tenant, role)
    membership, created = Membership.objects.get_or_create(user=user, tenant=tenant, role=role)
    if created:
        _record_member("member.add", actor, tenant, user, role)
    return membership


@transaction.atomic
def remove_member(*, actor: User | None, tenant: Tenant, user: User, role: str) -> None:
    """Take a role in a tenant away; it counts from the next request on."""
    _require_member_right(actor, tenant, role)
    gone, _by_model = Membership.objects.filter(user=user, tenant=tenant, role=role).delete()
    if gone:
        _record_member("member.remove", actor, tenant, user, role)
        rights_changed.send(User, user_id=user.pk)


def _require_member_right(actor: User | None, tenant: Tenant, role: str) -> None:
    if role not in Membership.Role.values:
        raise Refused(_("There is no such role."), code="GP-1304", field="role")
    if actor is not None:
        lead = role == Membership.Role.LEAD
        access.require(actor, "tenant.name_lead" if lead else "tenant.add_member", tenant)


def _record_member(action: str, actor: User | None, tenant: Tenant, user: User, role: str) -> None:
    scope = audit.scope_of(tenant)
    data = {"person": user.username, "role": role}
    audit.record(action, actor=actor, scope=scope, obj=tenant, data=data)


@transaction.atomic
def grant_role(*, actor: User | None, user: User, role: str) -> PlatformRole:
    """Give a platform role. Nobody gives one to themselves."""
    _require_role_right(actor, user, role)
    row, created = PlatformRole.objects.get_or_create(user=user, role=role)
    if created:
        data = {"person": user.username, "role": role}
        audit.record("role.grant", actor=actor, scope=audit.PLATFORM, obj=user, data=data)
    return row


@transaction.atomic
def take_role(*, actor: User, user: User, role: str) -> None:
    """Take a platform role away, but never the last administrator's."""
    _require_role_right(actor, user, role)
    if role == PlatformRole.Role.ADMIN:
        _keep_an_admin(user)
    gone, _by_model = PlatformRole.objects.filter(user=user, role=role).delete()
    if gone:
        data = {"person": user.username, "role": role}
        audit.record("role.take", actor=actor, scope=audit.PLATFORM, obj=user, data=data)
        rights_changed.send(User, user_id=user.pk)


def _require_role_right(actor: User | None, user: User, role: str) -> None:
    if role not in PlatformRole.Role.values:
        raise Refused(_("There is no such role."), code="GP-1304", field="role")
    if actor is None:
        return
    access.require(actor, "people.grant")
    if actor.pk == user.pk:
        raise NotAllowed(_("Nobody changes their own roles."), code="GP-1305")


def _keep_an_admin(user: User) -> None:
    admins = PlatformRole.objects.select_for_update().filter(role=PlatformRole.Role.ADMIN)
    held = set(admins.filter(user__is_active=True).values_list("user_id", flat=True))
    if held == {user.pk}:
        raise LastAdmin(_("This is the last administrator. Name another one first."))
