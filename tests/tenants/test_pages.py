"""The pages of this app: what they show, to whom, and what a form turns into."""

import pytest
from django.db import transaction

from tenants import audit
from tenants.models import AuditEvent, Request
from tests import cast

FORM_KEY = "form-key-0123456789"


@pytest.fixture
def as_(client, people):
    def enter(name):
        client.force_login(getattr(people, name))
        return client

    return enter


def text(answer):
    return answer.content.decode()


CATALOG_PAGES = [
    "/catalog/",
    "/catalog/lab/",
    "/catalog/lab/flavors/a100/",
    "/catalog/lab/topologies/racks/",
    "/catalog/lab/departments/research/",
    "/catalog/lab/tenants/nlp/",
    "/catalog/lab/queues/nlp-train/",
    "/catalog/lab/entries/nlp/main/",
    "/catalog/lab/priorities/boss-urgent/",
]


@pytest.mark.parametrize("url", CATALOG_PAGES)
@pytest.mark.parametrize("name", ["alice", "dave"])
def test_shows_the_catalog(as_, url, name):
    answer = as_(name).get(url)

    assert answer.status_code == 200
    assert cast.MARK not in text(answer) or name == "dave"


def test_member_does_not_see_other_tenants(as_):
    alice = as_("alice")

    assert "and 1 queue of another tenant" in text(alice.get("/catalog/lab/"))
    for url in ("tenants/cv/", "queues/cv-train/", "entries/cv/main/"):
        answer = alice.get(f"/catalog/lab/{url}")
        assert answer.status_code == 404
        assert cast.MARK not in text(answer)


@pytest.mark.parametrize(
    "url",
    ["flavors/nothing/", "flavors/a%00b/", "widgets/a/", "flavors/%2e%2e/", "queues/NLP-TRAIN/"],
)
def test_what_is_not_there_is_404(as_, url):
    assert as_("dave").get(f"/catalog/lab/{url}").status_code == 404


def test_empty_cluster_says_what_to_do(as_, people):
    people.cluster.__class__.objects.create(slug="empty", display_name="Empty")

    answer = as_("dave").get("/catalog/empty/")

    assert "No flavor yet" in text(answer)
    assert "/catalog/empty/flavors/new" in text(answer)


def test_number_of_queries_is_the_same_for_many(as_, people, django_assert_max_num_queries):
    dave = as_("dave")
    with django_assert_max_num_queries(16):
        dave.get("/catalog/lab/")


# --- proposing ------------------------------------------------------------------------------------

KINDS = ["flavors", "topologies", "departments", "tenants", "queues", "priorities"]
NAMES = {
    "flavors": "a100",
    "topologies": "racks",
    "departments": "research",
    "tenants": "nlp",
    "queues": "nlp-train",
    "priorities": "boss-urgent",
}


@pytest.mark.parametrize("kind", [*KINDS, "entries"])
def test_shows_an_empty_form(as_, kind):
    assert as_("dave").get(f"/catalog/lab/{kind}/new").status_code == 200


def filled(form):
    """What a browser would send for a form as it was shown."""
    values = {}
    for field in form:
        value = field.value()
        values[field.name] = "" if value is None else value
    return {**values, "reason": "Because.", "form_key": FORM_KEY}


@pytest.mark.parametrize("kind", KINDS)
def test_unchanged_form_changes_nothing(as_, kind):
    dave, url = as_("dave"), f"/catalog/lab/{kind}/{NAMES[kind]}/edit"
    form = dave.get(url).context["form"]

    answer = dave.post(url, filled(form))

    assert answer.status_code == 422
    assert answer.context["form"].errors == {
        "__all__": ["This is what the catalog says already."]
    }  # fmt: skip


CHANGES = {
    "flavors": {
        "capacity": "40",
        "taints": "gpu=yes:NoSchedule",
        "tolerations": "gpu:NoExecute 300s",
    },
    "departments": {"weight": "1.5", "a100/devices": "4"},
    "tenants": {"display_name": "Words & worlds", "cost_centre": "7"},
    "queues": {"a100/devices": "20", "a100/cpu": "", "a100/memory": "", "a100/lending_limit": "4"},
    "priorities": {"value": "-5"},
}


@pytest.mark.parametrize("kind", CHANGES)
def test_changed_form_becomes_a_request(as_, people, kind):
    dave, url = as_("dave"), f"/catalog/lab/{kind}/{NAMES[kind]}/edit"
    form = dave.get(url).context["form"]

    answer = dave.post(url, {**filled(form), **CHANGES[kind]})

    row = Request.objects.get()
    assert (answer.status_code, answer.url) == (302, f"/requests/{row.pk}/")
    assert (row.kind, row.author) == ("catalog", people.dave)
    assert row.tenant == (people.nlp if kind in ("tenants", "queues") else None)


def test_queue_form_keeps_the_proportion(as_):
    dave, url = as_("dave"), "/catalog/lab/queues/nlp-train/edit"
    form = dave.get(url).context["form"]

    dave.post(url, {**filled(form), **CHANGES["queues"]})

    queue = Request.objects.get().edits[0]["queue"]
    assert [(line["resource"], line["nominal"], line["lending_limit"]) for line in queue["quotas"]] == [
        ("cpu", "160", "32"), ("memory", "1280Gi", "256Gi"), ("nvidia.com/gpu", 20, 4),
    ]  # fmt: skip


NEW = {
    "flavors": {
        "name": "h100", "capability": "fast", "resource": "nvidia.com/gpu", "device_kind": "whole",
        "purchase": "spot", "node_labels": "gpu-lab.io/model=h100", "cpu_per_device": "12",
        "memory_per_device": "128Gi", "capacity": "8",
    },
    "topologies": {"name": "rows", "levels": "lab.io/row\nlab.io/rack"},
    "departments": {"name": "vision", "display_name": "Vision", "parent": "research"},
    "tenants": {"slug": "speech", "display_name": "Speech"},
    "queues": {
        "name": "nlp-dev", "tenant": "nlp", "purpose": "development", "cohort": "research",
        "strategy": "StrictFIFO", "stop_policy": "None", "weight": "2",
        "within_cluster_queue": "LowerPriority", "reclaim_within_cohort": "Any",
        "borrow_within_cohort": "Never", "when_can_borrow": "MayStopSearch",
        "when_can_preempt": "TryNextFlavor", "a100/devices": "2", "a100/borrowing_limit": "0",
        "a100/lending_limit": "everything", "entries": "nlp/dev\nnlp-2/dev",
    },
    "entries": {"queue": "nlp-train", "namespace": "nlp", "name": "second"},
    "priorities": {"name": "low", "value": "0", "contract": "Anybody.\r\nAt any time."},
}  # fmt: skip


@pytest.mark.parametrize("kind", NEW)
def test_new_thing_becomes_a_request(as_, kind):
    sent = {**NEW[kind], "reason": "Because.", "form_key": FORM_KEY}

    answer = as_("dave").post(f"/catalog/lab/{kind}/new", sent)

    assert answer.status_code == 302, answer.context["form"].errors
    assert Request.objects.count() == 1


@pytest.mark.parametrize("kind", NEW)
def test_same_form_twice_is_one_request(as_, kind):
    sent = {**NEW[kind], "reason": "Because.", "form_key": FORM_KEY}
    dave = as_("dave")

    urls = {dave.post(f"/catalog/lab/{kind}/new", sent).url for _ in range(2)}

    assert len(urls) == Request.objects.count() == 1


@pytest.mark.parametrize("kind", KINDS)
def test_new_form_refuses_a_name_that_exists(as_, kind):
    key = "slug" if kind == "tenants" else "name"
    sent = {**NEW[kind], key: NAMES[kind], "reason": "Because.", "form_key": FORM_KEY}

    answer = as_("dave").post(f"/catalog/lab/{kind}/new", sent)

    assert answer.context["form"].errors[key] == ["There is one with this name already."]


def test_open_request_is_named(as_):
    dave, sent = as_("dave"), {**NEW["entries"], "reason": "Because."}
    dave.post("/catalog/lab/entries/new", {**sent, "form_key": FORM_KEY})

    answer = dave.post("/catalog/lab/entries/new", {**sent, "name": "third", "form_key": "x" * 20})

    assert answer.status_code == 422
    assert "open request for nlp-train" in str(answer.context["form"].errors)


def test_form_without_a_key_is_refused(as_):
    answer = as_("dave").post("/catalog/lab/entries/new", {**NEW["entries"], "reason": "r"})

    assert answer.status_code in (400, 422)
    assert not Request.objects.exists()


@pytest.mark.parametrize("name", ["alice", "bob", "carol", "erin"])
def test_only_administrators_propose(as_, name):
    client = as_(name)

    assert client.get("/catalog/lab/flavors/new").status_code == 403
    assert client.post("/catalog/lab/flavors/new", {}).status_code == 403
    event = AuditEvent.objects.get(action="access.refused")
    assert event.data["page"] == "catalog-new"


# --- the trail ------------------------------------------------------------------------------------


def write(count, scope="tenant:nlp", **more):
    with transaction.atomic():
        for number in range(count):
            audit.record(
                "member.add", actor=None, scope=scope, obj=None, data={"n": number, **more}
            )


def test_pages_the_trail_by_key(as_):
    write(120)
    dave = as_("dave")

    first = dave.get("/audit/?scope=tenant:nlp")
    after = first.context["events"].after
    second = dave.get("/audit/", {"scope": "tenant:nlp", "after": after})

    assert [event.seq for event in first.context["events"]] == list(range(120, 70, -1))
    assert [event.seq for event in second.context["events"]] == list(range(70, 20, -1))


@pytest.mark.parametrize(
    "query",
    ["scope=tenant:cv", "scope=nonsense", "action=no", "page=-1", "sort=password", "after=%00", "size=99999999999",
     "person=%00", "object=" + "x" * 10_000, "scope=a&scope=b", "outcome=refused"],
)  # fmt: skip
def test_understands_any_query(as_, query):
    write(3, scope="tenant:cv", secret=cast.MARK)
    write(3)

    answer = as_("alice").get(f"/audit/?{query}")

    assert answer.status_code == 200
    assert cast.MARK not in text(answer)


def test_shows_facts_as_text(as_):
    write(1, note='<script>alert(1)</script><p hx-get="/x">')

    page = text(as_("erin").get("/audit/"))

    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


@pytest.mark.parametrize("name", ["bob", "frank", "heidi"])
def test_trail_is_not_for_everybody(as_, name):
    assert as_(name).get("/audit/").status_code == 403


@pytest.mark.parametrize("name", ["dave", "erin"])
def test_proves_every_chain(as_, name):
    write(7)

    answer = as_(name).post("/audit/verify")

    assert "chain intact up to #7" in text(answer)
    assert AuditEvent.objects.filter(action="audit.verify", outcome="done").count() == 1


def test_proof_is_for_auditors_and_administrators(as_):
    assert as_("carol").post("/audit/verify").status_code == 403
    assert AuditEvent.objects.get(action="audit.verify").outcome == "refused"


@pytest.mark.owner
def test_says_where_a_chain_is_broken(as_):
    write(5)
    AuditEvent.objects.filter(scope="tenant:nlp", seq=4)
    from django.db import connection

    connection.cursor().execute("SET LOCAL session_replication_role = replica")
    AuditEvent.objects.filter(scope="tenant:nlp", seq=4).update(actor_name="x")

    answer = as_("erin").post("/audit/verify")

    assert "intact up to #3, broken at #4" in text(answer)


# --- people ---------------------------------------------------------------------------------------


def test_shows_the_people_of_a_tenant(as_, people):
    people.bob.email = "bob@example.org"
    people.bob.save(update_fields=["email"])

    assert "bob@example.org" in text(as_("alice").get("/t/nlp/people/"))
    assert "bob@example.org" not in text(as_("bob").get("/t/nlp/people/"))
    assert as_("frank").get("/t/nlp/people/").status_code == 403
    assert as_("grace").get("/t/nlp/people/").status_code == 404


# --- the number of queries does not grow with the number of rows --------------------------------------


def grow(people, count):
    from dataclasses import replace

    from kube.catalog import TenantSpec
    from tenants.services.catalog import commit_revision

    base = cast.catalog()
    tenants = tuple(
        TenantSpec(
            slug=f"team-{n}",
            display_name=f"Team {n}",
            queues=(cast.queue(f"q-{n}", f"ns-{n}", 0),),
        )
        for n in range(count)
    )
    catalog = replace(base, tenants=(*base.tenants, *tenants))
    commit_revision(cluster=people.cluster, catalog=catalog, actor=None, summary="More")
    for n in range(count):
        cast.person(f"person-{count}-{n}", tenant=people.nlp, role="user")


@pytest.mark.parametrize(
    "url",
    [
        "/catalog/",
        "/catalog/lab/",
        "/catalog/lab/tenants/nlp/",
        "/audit/",
        "/people/",
        "/t/nlp/people/",
    ],
)
def test_many_rows_need_no_more_queries(as_, people, url, django_assert_num_queries):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    dave = as_("dave")
    grow(people, 1)
    with CaptureQueriesContext(connection) as few:
        dave.get(url)
    grow(people, 30)

    with django_assert_num_queries(len(few)):
        dave.get(url)


def test_a_language_without_texts_is_neither_offered_nor_chosen(client, people, settings):
    """Dates and messages of Django alone would make a page of two languages."""
    offered = [code for code, _name in settings.LANGUAGES]
    client.force_login(people.alice)
    page = client.get("/", follow=True, headers={"Accept-Language": "zh-CN,zh;q=0.9"})
    text = page.content.decode()

    assert ("zh-hans" in offered) == ('<html lang="zh-hans"' in text)
    assert ("zh-hans" in offered) == ('name="language"' in text)
    assert "en" in offered
