"""The table of actions, cell by cell, and what exists for whom."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import Http404

from portal.web.errors import NotAllowed
from tenants import access, audit
from tenants.models import AuditEvent, Cluster, Membership, Queue, Request, Tenant
from tests.cast import MARK

ROLES = ("user", "lead", "finance", "approver", "admin", "auditor")
#                                 U L F  P A U   and the lead of the other tenant gets nothing
TABLE = {
    "tenant.see":                "y y y  y y y",
    "tenant.numbers":            "y y y  y y y",
    "tenant.jobs":               "y y n  y y y",
    "tenant.costs":              "n y y  y y y",
    "tenant.budget":             "n n y  y y n",
    "tenant.people":             "y y n  y y y",
    "tenant.contacts":           "n y n  y y y",
    "tenant.add_member":         "n y n  n y n",
    "tenant.name_lead":          "n n n  n y n",
    "queue.see":                 "y y y  y y y",
    "case.ask":                  "n n n  y y n",
    "case.justify":              "y y n  n n n",
    "case.take_back":            "n y n  n y n",
    "case.close":                "n n n  y y n",
    "request.see":               "y y y  y y y",
    "request.create":            "n y n  n y n",
    "request.edit":              "n y n  n y n",
    "request.withdraw":          "n y n  n y n",
    "request.plan_again":        "n y n  n y n",
    "request.abandon":           "n y n  n y n",
    "request.decide":            "n n n  y y n",
    "plan.see":                  "n y n  y y y",
    "plan.approve":              "n n n  y y n",
    "plan.reject":               "n n n  y y n",
    "plan.take_back":            "n n n  n y n",
    "plan.keep_theirs":          "n n n  n y n",
    "apply.see":                 "y y y  y y y",
    "apply.retry":               "n n n  n y n",
    "cluster.see":               "y y y  y y y",
    "cluster.details":           "n n n  y y y",
    "cluster.register":          "n n n  n y n",
    "cluster.write":             "n n n  n y n",
    "cluster.disconnect":        "n n n  n y n",
    "cluster.metrics":           "n n n  n y n",
    "catalog.see":               "y y y  y y y",
    "catalog.propose":           "n n n  n y n",
    "costs.see":                 "n n n  y y y",
    "costs.work":                "n n n  y y n",
    "prices.work":               "n n n  y y n",
    "dispute.see":               "n y y  y y y",
    "dispute.open":              "n y y  n n n",
    "dispute.answer":            "n n n  y y n",
    "bills.see":                 "n n n  y y y",
    "bills.take":                "n n n  n y n",
    "audit.see":                 "n y n  y y y",
    "audit.verify":              "n n n  n y y",
    "people.see":                "n n n  y y y",
    "people.grant":              "n n n  n y n",
}  # fmt: skip
FREE = {"cluster.see", "catalog.see"}
WHO = {
    "user": "bob",
    "lead": "alice",
    "finance": "frank",
    "approver": "carol",
    "admin": "dave",
    "auditor": "erin",
}


@pytest.fixture
def asked(people):
    """A request of alice for nlp."""
    return Request.objects.create(
        cluster=people.cluster, tenant=people.nlp, kind="quota", author=people.alice,
        reason="r", edits=[], key="key-of-alice",
    )  # fmt: skip


def test_table_has_every_action():
    assert set(TABLE) == set(access.ACTIONS)


@pytest.mark.parametrize("action", TABLE)
def test_answers_as_the_table_says(people, asked, action):
    subject = asked if action.startswith(("request", "plan", "apply")) else people.nlp
    if action == "request.create":
        subject = people.nlp
    wanted = dict(zip(ROLES, TABLE[action].split(), strict=True))

    given = {role: access.can(getattr(people, WHO[role]), action, subject) for role in ROLES}

    assert given == {role: cell == "y" for role, cell in wanted.items()}
    assert access.can(people.grace, action, subject) is (action in FREE)
    assert not access.can(people.heidi, action, subject)
    assert not access.can(AnonymousUser(), action, subject)


def test_unknown_action_is_a_mistake_of_the_programmer(people):
    with pytest.raises(KeyError):
        access.can(people.dave, "tenant.explode", people.nlp)


@pytest.mark.parametrize(
    "action", ["request.decide", "plan.approve", "plan.reject", "plan.take_back"]
)
def test_nobody_decides_on_an_own_request(people, asked, action):
    Request.objects.update(author=people.dave)
    asked.refresh_from_db()

    assert access.reason_against(people.dave, action, asked) == access.OWN_REQUEST
    with pytest.raises(access.Denied, match="GP-1121"):
        access.require(people.dave, action, asked)


def test_lead_who_became_approver_does_not_decide(people, asked):
    Membership.objects.create(user=people.carol, tenant=people.nlp, role="lead")

    assert access.reason_against(people.carol, "plan.approve", asked) == access.OWN_TENANT


def test_author_may_withdraw_but_not_after_leaving(people, asked):
    Request.objects.update(author=people.bob)
    asked.refresh_from_db()
    assert access.can(people.bob, "request.withdraw", asked)

    Membership.objects.filter(user=people.bob).delete()
    assert not access.can(people.bob, "request.withdraw", asked)


def test_without_an_object_any_tenant_counts(people):
    assert access.can(people.alice, "request.create")
    assert not access.can(people.bob, "request.create")


# --- what exists ----------------------------------------------------------------------------------

SEES = {
    "alice": (1, 1, 1, 1), "bob": (1, 1, 1, 1), "frank": (1, 1, 1, 1), "grace": (1, 1, 0, 1),
    "carol": (2, 2, 1, 1), "dave": (2, 2, 1, 1), "erin": (2, 2, 1, 1), "heidi": (0, 0, 0, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", SEES)
def test_sees_only_what_exists_for_them(people, asked, name):
    user = getattr(people, name)

    seen = [access.visible_to(user, model).count() for model in (Tenant, Queue, Request, Cluster)]

    assert tuple(seen) == SEES[name]


def test_anonymous_sees_nothing(people, asked):
    nobody = AnonymousUser()

    for model in (Tenant, Queue, Request, Cluster, AuditEvent):
        assert not access.visible_to(nobody, model).exists()


def test_trail_of_a_tenant_is_for_its_leads(people):
    audit.record("member.add", actor=None, scope="tenant:nlp", obj=people.nlp)
    audit.record("member.add", actor=None, scope="tenant:cv", obj=people.cv)

    def scopes(user):
        return {event.scope for event in access.audit_events(user)}

    assert scopes(people.alice) == {"tenant:nlp"}
    assert scopes(people.grace) == {"tenant:cv"}
    assert scopes(people.bob) == scopes(people.frank) == scopes(people.heidi) == set()
    assert scopes(people.erin) == {"platform", "tenant:nlp", "tenant:cv"}


def test_rights_are_one_query(people, django_assert_num_queries):
    with django_assert_num_queries(1):
        held = access.rights(people.alice)
    assert held.within(people.nlp.pk) == {"lead"}
    assert held.within(people.cv.pk) == frozenset()


# --- fetching -------------------------------------------------------------------------------------


def test_fetches_what_is_visible(people, asked):
    assert access.tenant(people.alice, "nlp") == people.nlp
    assert access.cluster(people.bob, "lab") == people.cluster
    assert access.request(people.frank, asked.pk) == asked
    assert access.queue(people.alice, "lab", "nlp-train").tenant == people.nlp


@pytest.mark.parametrize("slug", ["cv", "nothing", "", "a\0b", MARK, "x" * 500])
def test_hides_what_is_not(people, slug):
    with pytest.raises(Http404):
        access.tenant(people.alice, slug)


@pytest.mark.parametrize(
    "pk", ["0", "-1", "nonsense", "a\0b", "00000000-0000-0000-0000-000000000000"]
)
def test_a_malformed_id_is_not_there(people, pk):
    with pytest.raises(Http404):
        access.request(people.dave, pk)


def test_refuses_what_is_visible_but_not_allowed(people):
    with pytest.raises(NotAllowed, match="GP-1003"):
        access.tenant(people.frank, "nlp", "tenant.jobs")


def test_page_reads_rights_once(people, django_assert_num_queries):
    with django_assert_num_queries(1), access.one_reading():
        access.rights(people.alice)
        access.can(people.alice, "request.create", people.nlp)
    with access.one_reading():
        access.rights(people.alice)
        Membership.objects.filter(user=people.alice).delete()
    assert not access.rights(people.alice)
