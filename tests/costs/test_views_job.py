"""One job from the queue to its cost: every phase once, priced by the hour."""

import csv
import io
from datetime import timedelta
from decimal import Decimal

import pytest

from costs.models import PriceBook
from costs.rates import Basis, PriceKey
from costs.services import prices
from tests.costs import stored
from tests.costs.ledger_rows import OCTOBER
from tests.kube.kueue_life import START
from tests.query_counts import counted
from tests.queues import pages
from tests.queues.test_history import SECRET, Town, displaced

URL = "/c/lab/jobs/nlp/job-mine/costs/"
CSV = "/c/lab/jobs/nlp/job-mine/costs.csv"


@pytest.fixture
def town(lab):
    return displaced(Town(lab.cluster))


def priced(lab):
    """Admitted time costs 2.00 and from ten o'clock on 3.00, committed time 1.00."""
    book = PriceBook.objects.create(name="main", purpose="showback", currency="USD")
    version = prices.draft(book=book, actor=lab.carol)
    for basis, starts, rate in (
        (Basis.ADMITTED, OCTOBER, "2"), (Basis.ADMITTED, START + timedelta(hours=1), "3"),
        (Basis.COMMITTED, OCTOBER, "1"),
    ):  # fmt: skip
        prices.set_price(
            version=version, key=PriceKey("a100", basis), starts=starts, rate=Decimal(rate)
        )
    prices.activate(version=version, actor=lab.dave)


def rows(client):
    return list(csv.DictReader(io.StringIO(client.get(CSV).content.decode("utf-8-sig"))))


def test_the_phases_are_those_of_the_history(town, lab, client):
    """Ten minutes in the queue, two hours admitted with 8 GPUs, then evicted."""
    client.force_login(lab.bob)
    found = rows(client)

    assert [row["phase"] for row in found] == ["queued", "admitted", "evicted"]
    assert [row["seconds"] for row in found[:2]] == ["600", "7200"]
    assert [row["held_h"] for row in found] == ["0.000000", "16.000000", "0.000000"]
    assert (found[2]["lasts"], found[2]["to"]) == ("yes", "")
    said = stored.said(client.get(URL))
    assert "Admitted 16.0 GPU-h of it" in said
    assert "Lost 16.0 GPU-h of work, in 1 eviction" in said


def test_its_cost_is_counted_hour_by_hour(town, lab, client):
    """Admitted from 9:10 to 11:10: 50 minutes at 2.00 and 70 at 3.00, of 8 GPUs."""
    priced(lab)
    client.force_login(lab.alice)
    said = stored.said(client.get(URL))
    amount = 8 * (Decimal(50) / 60 * 2 + Decimal(70) / 60 * 3)

    assert f"16.0 {amount:.2f}" in said
    assert "Held, at the rate of committed quota 1.00 USD/h 16.0 16.00" in said


def test_a_member_reads_hours_and_no_money(town, lab, client):
    priced(lab)
    client.force_login(lab.bob)

    assert "USD" not in pages.text(client.get(URL))


def test_without_a_price_there_is_no_amount(town, lab, client):
    client.force_login(lab.alice)

    assert "That does not mean that it costs nothing" in stored.said(client.get(URL))


def test_who_took_the_place_has_no_name(town, lab, client):
    client.force_login(lab.alice)

    assert SECRET not in pages.text(client.get(URL))


def test_a_job_of_another_tenant_does_not_exist(town, lab, client):
    client.force_login(lab.grace)
    assert client.get(URL).status_code == 404
    client.force_login(lab.frank)
    assert client.get(URL).status_code == 404


def test_a_job_is_known_by_its_own_name_too(town, lab, client):
    client.force_login(lab.bob)

    assert client.get("/c/lab/jobs/nlp/mine/costs/").status_code == 200


def test_the_page_of_the_job_leads_here(town, lab, client):
    client.force_login(lab.bob)

    assert f'href="{URL}"' in pages.text(client.get("/c/lab/jobs/nlp/job-mine/"))


def test_queries_do_not_grow(town, lab, client):
    priced(lab)
    client.force_login(lab.alice)
    client.get(URL)
    with counted("costs: a job's time and cost"):
        client.get(URL)
