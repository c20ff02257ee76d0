"""Every page, every method, every role: the answer that stands in access_matrix.toml.

The test walks the resolver, so a page that nobody wrote down fails it. Each page is asked as a
browser and as htmx asks. What belongs to tenant B carries a mark that must not be in any answer
to somebody of tenant A.
"""

import io
import re
import tomllib
import uuid
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from costs.facts import Fact, HourFacts, Pool, PoolFact, Quality
from costs.models import (
    BillFile,
    BillSource,
    Case,
    Discrepancy,
    Dispute,
    Period,
    PriceBook,
    Statement,
)
from costs.policy import Policy
from costs.services import bills, prices
from costs.services.facts import store
from costs.times import HOUR, Span, instant
from queues.models import Apply, Plan, Workload
from tenants import audit
from tenants.models import Request
from tenants.services.catalog import newest
from tests import cast
from tests.conftest import rows_of_a_file

MATRIX = tomllib.loads((Path(__file__).parent / "access_matrix.toml").read_text())
ROLES = MATRIX.pop("roles").split()
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
PLAYERS = dict(
    zip(
        ROLES,
        (None, "heidi", "bob", "alice", "frank", "carol", "dave", "erin", "grace"),
        strict=True,
    )
)
OF_A = ("ME", "TL", "FV")
HTMX = {"headers": {"HX-Request": "true"}}
LOGIN = "/login/"
# The marks below are words of B that A must not read anywhere.
MARK = cast.MARK


def names(patterns):
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from names(pattern.url_patterns)
        elif isinstance(pattern, URLPattern):
            yield pattern.name


PAGES = sorted(set(filter(None, names(get_resolver().url_patterns))))
CASES = [
    (page, method, role, cell)
    for page in PAGES
    for method, cells in MATRIX.get(page, {}).items()
    if method in METHODS
    for role, cell in zip(ROLES, cells.split(), strict=True)
]


class World:
    """A request with plan and apply in each tenant, and jobs that only their owners may read."""

    def __init__(self):
        self.people = cast.make()
        self.keys = {"nobody": str(uuid.uuid4()), "long": "x" * 3000}
        self.keys["alice"] = str(self.people.alice.pk)
        self.add("a", self.people.nlp, self.people.alice, "A better model")
        self.add("b", self.people.cv, self.people.grace, f"For {MARK}")
        self.bill()
        self.keys["month"] = f"{timezone.now():%Y-%m}"
        self.keys["bill"] = self.count()
        self.keys |= self.files()

    def add(self, letter, tenant, author, words):
        cluster = self.people.cluster
        request = Request.objects.create(
            cluster=cluster, tenant=tenant, kind="quota", author=author, reason=words, state="planned",
            edits=[{"edit": "set_quota", "queue": f"{tenant.slug}-train", "flavor": "a100",
                    "resource": "nvidia.com/gpu", "nominal": 9}],
            key=f"key-of-{letter}-0123456789", targets=[f"queue:{tenant.slug}-train/a100"],
        )  # fmt: skip
        revision = newest(cluster)
        plan = Plan.objects.create(
            request=request, cluster=cluster, state="ready", base=revision, digest="d" * 64,
            proposed=revision.catalog, made_at=timezone.now(),
        )  # fmt: skip
        apply = Apply.objects.create(plan=plan, request=request, cluster=cluster, revision=revision)
        audit.record("request.submit", actor=author, scope=audit.scope_of(tenant), obj=request,
                     data={"reason": words})  # fmt: skip
        for number in range(3):
            Workload.objects.create(
                cluster=cluster, uid=f"{letter}-{number}", namespace=tenant.slug, name=f"job-{words}-{number}",
                job_kind="Job", job_name=f"{words}-{number}" if number else f"job-of-{letter}", entry="main", queue=f"{tenant.slug}-train",
                devices=8, state=("running", "waiting", "waiting")[number], stage="quota", position=number or None,
                created_at=timezone.now(), resource_version="1", observed_at=timezone.now(),
            )  # fmt: skip
        case = Case.objects.create(
            cluster=cluster, tenant=tenant, kind="unheld", subject=f"{tenant.slug}-train", queue=f"{tenant.slug}-train",
            flavor="a100", resource="nvidia.com/gpu", devices=4, nominal=16, since=timezone.now(),
            found_at=timezone.now(), seen_at=timezone.now(), answer=words,
        )  # fmt: skip
        self.keys |= {
            f"case_{letter}": case.pk,
            f"request_{letter}": request.pk,
            f"plan_{letter}": plan.pk,
            f"apply_{letter}": apply.pk,
        }

    def bill(self):
        """A period in which both tenants have a statement with a dispute, and what it rests on."""
        people = self.people
        book = PriceBook.objects.create(name="main", purpose="showback", currency="USD")
        starts = timezone.now().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        period = Period.objects.create(book=book, starts=starts, ends=starts + timedelta(days=28))
        version = prices.draft(book=book, actor=people.carol)
        policy = prices.propose_policy(
            book=book, starts=starts, policy=Policy(), actor=people.carol
        )
        finding = Discrepancy.objects.create(
            period=period, code="unmanaged", subject=f"lab/a100/gpu {MARK}", difference=1, whole=1,
            blocks=False, facts={"tenant": MARK, "flavor": "a100"},
        )  # fmt: skip
        for letter, tenant, author in (
            ("a", people.nlp, people.alice), ("b", people.cv, people.grace)
        ):  # fmt: skip
            row = Statement.objects.create(
                period=period, tenant=tenant, payer_name=str(tenant), total=1, sha256="0" * 64
            )
            dispute = Dispute.objects.create(
                statement=row, basis="committed", amount=1, opened_by=author,
                text="too much" if letter == "a" else f"too much for {MARK}",
            )  # fmt: skip
            self.keys[f"dispute_{letter}"] = dispute.pk
        self.keys |= {
            "period": period.pk, "book": book.pk, "version": version.pk, "policy": policy.pk,
            "finding": finding.pk,
        }  # fmt: skip

    def count(self):
        """An hour of this month in which both tenants held something, and a bill; return its hash."""
        cluster, hour = (
            self.people.cluster,
            timezone.now().replace(minute=0, second=0, microsecond=0),
        )
        span = Span(instant(hour), instant(hour) + HOUR)
        each = dict.fromkeys(("own", "borrowed", "lent", "overdraft", "excess", "reserved",
                              "draining", "running", "terminating", "unmanaged"), 0)  # fmt: skip
        pool = Pool("a100", "nvidia.com/gpu")
        found = [
            Fact(hour=span.starts, tenant=slug, pool=pool, quality=Quality.OBSERVED, use=None,
                 **each | dict.fromkeys(("own", "held", "admitted", "held_least", "held_most"), 60),
                 committed=3600, coverage=3600, pods=3600)
            for slug in ("cv", "nlp")
        ]  # fmt: skip
        pools = (PoolFact(span.starts, pool, 28_800, 0, 0, 0, 0, 0),)
        store(cluster=cluster, span=span, found=[HourFacts(span.starts, tuple(found), pools)])
        source = BillSource.objects.create(name="aws", currency="USD")
        return BillFile.objects.create(source=source, name="bill.csv", sha256="a" * 64).sha256

    def files(self):
        """Two versions of what own machines cost; return the keys of source and newer file."""
        source = BillSource.objects.create(name="own", currency="USD", kind="own")
        head = b"month,cluster,flavor,kind,amount,currency\r\n2026-10,lab,a100,power,"
        found = [
            bills.take(source=source, file=io.BytesIO(head + amount), name="own.csv", actor=None)
            for amount in (b"1,USD", b"2,USD")
        ]
        return {"source": source.pk, "file": found[-1].pk}

    def args(self, page, which):
        return [str(arg).format_map(self.keys) for arg in MATRIX[page].get(which, [])]

    def url(self, page, which="a"):
        return reverse(page, args=self.args(page, which))

    def client(self, role):
        client = Client(raise_request_exception=True)
        if PLAYERS[role]:
            client.force_login(getattr(self.people, PLAYERS[role]))
        return client


@pytest.fixture(scope="module")
def made(django_db_setup, django_db_blocker):
    """Make the world once: two thousand questions change nothing that the next one reads."""
    yield from rows_of_a_file(django_db_blocker, World)


@pytest.fixture
def world(made, db):
    return made


def to_login(answer):
    return answer.status_code == 302 and answer.url.startswith(LOGIN)


def verdict(answer):
    """Read an answer as a cell of the matrix."""
    if to_login(answer) or (answer.status_code == 401 and LOGIN in answer.get("HX-Redirect", "")):
        return "L"
    known = {401: "U", 403: "N", 404: "H", 405: "M"}
    if answer.status_code in known:
        return known[answer.status_code]
    assert answer.status_code < 500, answer.status_code
    return "Y"


def text(answer):
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return body.decode() + str(dict(answer.headers))


def doubled(answer):
    """Give the ids that stand twice: links, labels and parts that are sent again mean the first."""
    found = Counter(re.findall(r'\sid="([^"]*)"', answer.content.decode()))
    return [each for each, times in found.items() if times > 1]


def test_every_page_is_in_the_matrix():
    assert [page for page in PAGES if page not in MATRIX] == []


def test_matrix_has_no_page_that_is_gone():
    assert [page for page in MATRIX if page not in PAGES] == []


def test_every_page_has_a_name():
    assert None not in list(names(get_resolver().url_patterns))


@pytest.mark.parametrize("page", PAGES)
def test_every_method_is_in_the_matrix(world, page):
    """As administrator: what is not listed must be refused as a method."""
    listed = {method for method in MATRIX.get(page, {}) if method in METHODS}
    allowed = listed | ({"HEAD"} if "GET" in listed else set())

    for method in METHODS:
        if method not in allowed:
            answer = world.client("AD").generic(method, world.url(page))
            assert answer.status_code == 405, f"{method} {page} answers {answer.status_code}"


@pytest.mark.parametrize(("page", "method", "role", "cell"), CASES)
def test_answers_as_the_matrix_says(world, page, method, role, cell):
    for extra in ({}, HTMX):
        answer = world.client(role).generic(method, world.url(page), **extra)

        assert verdict(answer) == cell, f"{answer.status_code} with {extra}"
        if role in OF_A:
            assert MARK not in text(answer)
        if answer.get("Content-Type", "").startswith("text/html"):
            assert doubled(answer) == []
        if page not in ("healthz", "readyz"):
            assert "HX-Request" in answer["Vary"]


@pytest.mark.parametrize("role", OF_A)
@pytest.mark.parametrize("page", [page for page in PAGES if "b" in MATRIX.get(page, {})])
def test_hides_what_belongs_to_another_tenant(world, page, role):
    """The same status and the same words as for what does not exist."""
    method = next(method for method in METHODS if method in MATRIX[page])
    client = world.client(role)

    theirs = client.generic(method, world.url(page, "b"))
    nobodys = client.generic(method, world.url(page, "none"))

    if MATRIX[page][method].split()[ROLES.index("AD")] == "Y" and page.startswith("catalog-e"):
        # Proposing is refused before anybody looks what the name stands for.
        assert theirs.status_code == 403
    else:
        assert (theirs.status_code, nobodys.status_code) == (404, 404)
        assert without_id(theirs) == without_id(nobodys)
    assert MARK not in text(theirs)


def without_id(answer):
    """Take out what differs between any two answers: request id, form token, own address."""
    page = answer.content.decode()
    for each in (answer["X-Request-ID"], answer.wsgi_request.get_full_path()):
        page = page.replace(each, "")
    token = answer.context and answer.context.get("csrf_token")
    return page.replace(str(token), "") if token else page


@pytest.mark.parametrize("page", [page for page in PAGES if "none" in MATRIX.get(page, {})])
def test_what_does_not_exist_is_404_for_the_platform(world, page):
    method = next(method for method in METHODS if method in MATRIX[page])

    assert world.client("AD").generic(method, world.url(page, "none")).status_code == 404


BROKEN = [(page, url) for page in PAGES for url in MATRIX.get(page, {}).get("broken", [])]


@pytest.mark.parametrize(("page", "url"), BROKEN)
def test_broken_address_is_404(world, page, url):
    path = url.format_map(world.keys)

    assert world.client("AD").get(path).status_code == 404
    assert verdict(world.client("AN").get(path)) in "LHU"


QUERIES = [
    "page=-1", "page=1e9", "size=1000000", "sort=password", "sort=-id;drop", f"q={'x' * 10_000}", "fields=password",
    "after=%00", "before=nonsense", "q=%00", "state=%F0%28%8C%BC", "sort=a&sort=b", f"q={MARK}", "show=everything",
    "cluster=%00", "tenant=cv", "queue=cv-train", "scope=tenant:cv", "seen=x",
]  # fmt: skip
LISTS = [
    page for page in PAGES if MATRIX.get(page, {}).get("GET") and page not in ("healthz", "readyz")
]


@pytest.mark.parametrize("page", LISTS)
def test_no_query_breaks_a_page_or_opens_it(world, page):
    client = world.client("TL")
    for query in QUERIES:
        answer = client.get(f"{world.url(page)}?{query}")

        assert answer.status_code < 500, query
        # What somebody types themselves may come back in their own form, and only there.
        assert MARK not in text(answer).replace(f"q={MARK}", "") or MARK in query


HOSTS = {
    "HTTP_HOST": "evil.example",
    "HTTP_X_FORWARDED_HOST": "evil.example",
    "HTTP_X_HTTP_METHOD_OVERRIDE": "DELETE",
    "HTTP_X_ORIGINAL_URL": "/audit/",
    "HTTP_X_REWRITE_URL": "/audit/",
    "HTTP_USER_AGENT": "",
}


@pytest.mark.parametrize("name", HOSTS)
def test_no_header_changes_the_answer(world, name):
    answer = world.client("ME").get("/catalog/", **{name: HOSTS[name]})

    assert answer.status_code == (400 if name == "HTTP_HOST" else 200)
    assert "evil.example" not in text(answer)
