"""What surrounds every page: navigation by role, the switcher of tenants, the age of the data.

A context processor; everything is lazy, so that a polled partial asks for none of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port
from django.urls import NoReverseMatch, reverse
from django.utils.functional import SimpleLazyObject, cached_property
from django.utils.translation import gettext as _

from queues import topics
from queues.selectors.shell import Shell, shell
from tenants import access
from tenants.models import Membership, PlatformRole, Tenant

# The observer gives a sign of life at least this often.
INTERVAL = 15
DECIDING = "?show=decide"


@dataclass(frozen=True, slots=True)
class Item:
    """One link."""

    label: str
    url: str
    current: bool = False
    count: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """Links under one label."""

    label: str
    items: list[Item]


@dataclass(frozen=True, slots=True)
class Switch:
    """A menu that changes the tenant."""

    label: str
    current: str
    items: list[Item]


@dataclass(frozen=True, slots=True)
class Data:
    """The age of what one cluster told us."""

    name: str
    slug: str
    observed_at: datetime | None
    interval: int = INTERVAL


class Frame:
    """The surroundings of one request; each part is read once, when it is drawn."""

    def __init__(self, request: HttpRequest) -> None:
        """Remember the viewer."""
        self.request = request
        self.user: Any = request.user

    @cached_property
    def rights(self) -> access.Rights:
        """Read the roles of the viewer."""
        return access.rights(self.user)

    @cached_property
    def shell(self) -> Shell:
        """Read all surroundings at once, when the first of them is drawn."""
        return shell(self.user)

    @cached_property
    def tenants(self) -> list[Tenant]:
        """Give the tenants in the switcher: own ones, or the first of all for the platform."""
        return list(self.shell.tenants)

    def item(
        self, label: str, name: str, *args: str, count: int = 0, query: str = ""
    ) -> Item | None:
        """Make a link, or nothing where this portal has no such page."""
        try:
            url = reverse(name, args=args)
        except NoReverseMatch:
            return None
        here = self.request.path
        asked = "?" + self.request.GET.urlencode() if self.request.GET else ""
        deciding = asked.startswith(DECIDING)
        current = here == url and deciding == (query == DECIDING)
        current = current or (url != "/" and here != url and here.startswith(url) and not query)
        return Item(label, url + query, current, count)

    def nav(self) -> list[Group]:
        """Give the side navigation: what the roles of the viewer have to do with."""
        held = self.rights
        own = [tenant for tenant in self.tenants if tenant.pk in held.tenants]
        pays = held.tenant_ids(frozenset({access.LEAD, access.FINANCE})) and not held.platform
        money = [self.item(_("Statements"), "costs")] if pays else []
        groups = [
            Group(
                _("Me"),
                self.links([self.item(_("My jobs"), "jobs"), self.item(_("Requests"), "requests")]),
            ),
            Group(
                _("My tenants"),
                self.links([self.item(str(each), "tenant", each.slug) for each in own] + money),
            ),
        ]
        if held.platform & {access.APPROVER, access.ADMIN}:
            waiting = self.item(
                _("To decide"), "requests", query=DECIDING, count=self.shell.to_decide
            )
            groups.append(Group(_("Decide"), self.links([waiting])))
        if held:
            platform = [self.item(_("Catalog"), "catalog"), self.item(_("Clusters"), "clusters")]
            if held.platform:
                platform.append(self.item(_("Misrouted jobs"), "misrouted"))
                platform.append(self.item(_("Costs"), "costs"))
                platform.append(self.item(_("People"), "people"))
            if held.platform or held.tenant_ids(frozenset({access.LEAD})):
                platform.append(self.item(_("Audit"), "audit"))
            groups.append(Group(_("Platform"), self.links(platform)))
        return [group for group in groups if group.items]

    @staticmethod
    def links(items: list[Item | None]) -> list[Item]:
        """Leave out the pages that are not there."""
        return [item for item in items if item is not None]

    def switches(self) -> list[Switch]:
        """Give the switcher, where there is something to switch."""
        if len(self.tenants) < 2:
            return []
        match = self.request.resolver_match
        slug = match.kwargs.get("slug") if match and match.route.startswith("t/") else None
        items = self.links([self.item(str(each), "tenant", each.slug) for each in self.tenants])
        current = next((str(each) for each in self.tenants if each.slug == slug), _("choose"))
        return [Switch(_("Tenant"), current, items)]

    def freshness(self) -> list[Data]:
        """Give the age of each cluster's data, the oldest first."""
        rows = [Data(each.name, each.slug, each.at) for each in self.shell.ages]
        return sorted(rows, key=lambda row: row.observed_at.timestamp() if row.observed_at else 0.0)

    def live(self, everything: str) -> str:
        """Give the topics of a list over all that the viewer sees: own tenants, or everything."""
        own = [topics.tenant(each.slug) for each in self.tenants]
        return everything if self.rights.platform else " ".join(own)

    def role(self) -> str:
        """Name the roles of the viewer in one line."""
        platform = [PlatformRole.Role(role).label for role in sorted(self.rights.platform)]
        within = {role for roles in self.rights.tenants.values() for role in roles}
        return ", ".join(
            map(str, [*platform, *(Membership.Role(role).label for role in sorted(within))])
        )


def live_url(request: HttpRequest) -> str:
    """Return where pages hear of news; a port alone means the host that the visitor uses."""
    url = settings.LIVE_URL
    if not url.startswith(":"):
        return url
    host, _port = split_domain_port(request.get_host())
    return f"{request.scheme}://{host}{url}"


def frame(request: HttpRequest) -> dict[str, Any]:
    """Give the frame's parts to every template of a signed-in person."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    parts = Frame(request)
    return {
        "live_url": live_url(request),
        "live_jobs": SimpleLazyObject(partial(parts.live, topics.JOBS)),
        "live_requests": SimpleLazyObject(partial(parts.live, topics.REQUESTS)),
        "nav": SimpleLazyObject(parts.nav),
        "switches": SimpleLazyObject(parts.switches),
        "freshness": SimpleLazyObject(parts.freshness),
        "person": str(user),
        "person_role": SimpleLazyObject(parts.role),
        "person_links": [{"label": _("Change the password"), "url": reverse("password")}],
    }
