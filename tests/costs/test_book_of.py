"""Which price book a tenant's numbers are by: the one with the month, and never one by its name."""

from decimal import Decimal

import pytest
import time_machine

from costs.models import PriceBook
from costs.policy import Policy
from costs.rates import Basis, PriceKey
from costs.selectors.months import Month
from costs.selectors.pricing import book_of, books, offered
from costs.services import periods, prices
from tests.costs import noted, stored
from tests.costs.ledger_rows import OCTOBER
from tests.costs.losing import clock, evict, run

NOVEMBER = Month(2026, 11)
MONTH = {"month": "2026-11"}
#: Where a tenant reads numbers by a book: pages, files, answers.
READ = (
    "/t/nlp/costs/", "/t/nlp/costs/lost/", "/t/nlp/costs/lost.csv", "/t/nlp/costs/workloads.csv",
    "/t/nlp/costs/lab/focus.csv", "/c/lab/jobs/nlp/job-train/costs/",
    "/api/v1/tenants/nlp/costs/lost/2026-11/",
    "/api/v1/tenants/nlp/costs/amounts/2026-11/lab/a100/nvidia.com/gpu/",
)  # fmt: skip


@pytest.fixture(autouse=True)
def in_december():
    with time_machine.travel(noted.when("2026-12-01T00:30:00Z"), tick=False):
        yield


def made(lab, name, rate="2.50", purpose="chargeback", currency="USD"):
    """Return a book with prices of all that its policy charges, in use."""
    book = PriceBook.objects.create(name=name, purpose=purpose, currency=currency)
    version = prices.draft(book=book, actor=lab.carol)
    for basis in (Basis.COMMITTED, Basis.BORROWED, Basis.LENT_CREDIT, Basis.ADMITTED):
        key = PriceKey("a100", basis)
        prices.set_price(version=version, key=key, starts=OCTOBER, rate=Decimal(rate))
    prices.activate(version=version, actor=lab.dave)
    policy = prices.propose_policy(book=book, starts=OCTOBER, policy=Policy(), actor=lab.carol)
    prices.activate_policy(version=policy, actor=lab.dave)
    return book


def month(book, number):
    return periods.open_period(book=book, year=2026, number=number)


@pytest.fixture
def worked(lab):
    """A tenant with counted hours and a job that lost its place."""
    stored.store(
        lab.cluster, stored.fact(stored.at(1), "nlp", committed=16, own=12, borrowed=2, lent=2)
    )
    life = run(lab.cluster, "train", "nlp-train", 8, clock("09:00"), clock("11:10"))
    evict(life, "nlp-train", clock("11:10"), "preempted_reclaim", 130, "uid-boss", "/lab/cv-train")
    return lab


def asked(url):
    """Return the month as a query, where an address does not name it itself."""
    return {} if url.startswith("/api/") else MONTH


def read(client, url):
    """Return all that a person or a program is told; times of the clock do not move here."""
    answer = client.get(url, asked(url))
    assert answer.status_code == 200, url
    if answer.streaming:
        return b"".join(answer.streaming_content).decode()
    return answer.content.decode() if "csv" in url or "api" in url else stored.said(answer)


@pytest.mark.parametrize("had", [(), (10,), (11,), (10, 11)])
@pytest.mark.parametrize("who", ["alice", "dave"])
def test_a_book_that_is_only_prepared_changes_no_number(worked, client, had, who):
    """Its name comes first, its prices are others, and it has no month: nobody pays by it."""
    book = made(worked, "main")
    for number in had:
        month(book, number)
    client.force_login(getattr(worked, who))
    before = {url: read(client, url) for url in READ if may(client, url)}
    made(worked, "aaa first", "99.00", currency="EUR")

    assert who != "alice" or list(before) == list(READ)
    assert "43.33" in before["/t/nlp/costs/lost/"]
    for url, text in before.items():
        assert read(client, url) == text, url


def may(client, url):
    """Return whether the viewer has this page at all: jobs are the tenant's."""
    return client.get(url, asked(url)).status_code == 200


def test_the_order_of_books(lab):
    """With the month; else with the newest one before; else for charging, the oldest."""
    first, second, third = (made(lab, name) for name in ("m", "b", "z"))
    shown = made(lab, "a", purpose="showback")
    made(lab, "0", purpose="list")

    def names():
        return [each.name for each in offered(NOVEMBER, internal=True)]

    assert names() == ["m", "b", "z", "a", "0"]
    month(second, 8)
    month(third, 9)
    assert names() == ["z", "b", "m", "a", "0"]
    month(first, 12)
    assert names() == ["z", "b", "m", "a", "0"]
    month(first, 11)
    month(third, 12)
    assert names() == ["m", "z", "b", "a", "0"]
    month(shown, 11)
    assert names() == ["m", "a", "z", "b", "0"]
    assert book_of(NOVEMBER).name == "m"


def test_a_book_for_charging_is_in_use_from_its_first_month_on(lab):
    """What only informs is shown as before; a chart of the platform may use any book."""
    main, later = made(lab, "main"), made(lab, "aaa")
    made(lab, "info", purpose="showback")
    month(main, 10)
    month(later, 12)

    assert [each.name for each in books(NOVEMBER, internal=False)] == ["main", "info"]
    assert {each.name for each in offered(NOVEMBER, internal=False)} == {"main", "aaa", "info"}


def test_without_a_book_there_is_none(lab):
    made(lab, "list", purpose="list")

    assert book_of(NOVEMBER) is None
