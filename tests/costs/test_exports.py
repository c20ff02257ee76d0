"""A month as files: every hour, every Workload, and FOCUS without a broken rule."""

import csv
import io
from decimal import Decimal

import pytest
import time_machine
from django.core.management import CommandError, call_command

from costs.focus_columns import COLUMNS, CONDITIONAL
from costs.ingest.focus_rules import check
from costs.models import PriceBook
from costs.policy import Base, Policy
from costs.rates import Basis, PriceKey
from costs.services import prices
from costs.times import HOUR
from costs.used import Use
from queues.models import Interval, Lifetime
from tests.cast import MARK
from tests.costs import noted, stored
from tests.costs.ledger_rows import OCTOBER, book_of
from tests.query_counts import counted

MONTH = {"month": "2026-11"}


@pytest.fixture(autouse=True)
def in_december():
    """November is over: what was held in it is what there is."""
    with time_machine.travel(noted.when("2026-12-01T00:30:00Z"), tick=False):
        yield


def read(answer):
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


def test_every_hour_stands_in_the_file(priced, client):
    client.force_login(priced.bob)
    first, second = read(client.get("/t/nlp/costs/hourly.csv", MONTH))

    assert (first["hour"], first["tenant"], first["committed_s"]) == (
        "2026-11-01T00:00:00Z", "nlp", str(16 * HOUR),
    )  # fmt: skip
    assert first["used_s"] == f"{500 * HOUR / 1000:.3f}"
    assert (second["quality"], second["used_s"]) == ("missing", "")


def test_the_platform_has_all_tenants_in_one_file(priced, client):
    client.force_login(priced.dave)

    assert [row["tenant"] for row in read(client.get("/clusters/lab/costs/hourly.csv", MONTH))] == [
        "nlp", "cv", "nlp",
    ]  # fmt: skip


def test_a_month_that_is_none_is_none(priced, client):
    client.force_login(priced.dave)

    assert client.get("/clusters/lab/costs/hourly.csv", {"month": "2026-13"}).status_code == 404


@pytest.mark.parametrize("profile", ["", "strict"])
def test_the_focus_file_breaks_no_rule(priced, client, profile, tmp_path):
    client.force_login(priced.dave)
    answer = client.get("/clusters/lab/costs/focus.csv", MONTH | {"profile": profile})
    body = b"".join(answer.streaming_content)
    head, *rows = csv.reader(io.StringIO(body.decode()))

    assert list(check(head, rows, strict=profile == "strict")) == []
    assert [n for n in head if not n.startswith("x_")] == [
        n for n in COLUMNS if profile or n not in CONDITIONAL
    ]
    path = tmp_path / "focus.csv"
    path.write_bytes(body)
    call_command("costs_check_focus", str(path), stdout=io.StringIO())
    path.write_bytes(body.replace(b"USD", b"usd"))
    with pytest.raises(CommandError):
        call_command("costs_check_focus", str(path), stdout=io.StringIO())


def test_the_focus_file_has_what_the_policy_charges(priced, client):
    client.force_login(priced.frank)
    rows = read(client.get("/t/nlp/costs/lab/focus.csv", MONTH))
    amounts = {row["x_Basis"]: Decimal(row["BilledCost"]) for row in rows}

    assert amounts == {"committed": 40, "lent_credit": Decimal("-2.5")}
    by = {row["x_Basis"]: row for row in rows}
    assert by["committed"]["PricingQuantity"] == "16.000000"
    assert (by["lent_credit"]["ChargeCategory"], by["lent_credit"]["PricingQuantity"]) == (
        "Credit",
        "",
    )
    assert by["committed"]["x_UsedQuantity"] == "0.500000"
    assert MARK not in str(rows)


def test_without_a_price_there_is_no_file_that_looks_whole(lab, client):
    book_of(lab)
    stored.store(lab.cluster, stored.fact(stored.at(1), "cv", committed=8, own=8, borrowed=2))
    client.force_login(lab.dave)
    answer = client.get("/clusters/lab/costs/focus.csv", MONTH)

    assert answer.status_code == 422
    assert "GP-5501" in answer.content.decode()
    assert (
        "The policy of the price book “main chargeback” charges “Borrowed”, and for that a100 has "
        "no price at 2026-11-01 00:00 UTC."
    ) in stored.said(answer)


def test_without_a_measurement_there_is_no_file_either(priced, client):
    book = PriceBook.objects.get()
    policy = Policy(base=Base.USED)
    version = prices.propose_policy(book=book, starts=OCTOBER, policy=policy, actor=priced.carol)
    prices.activate_policy(version=version, actor=priced.dave)
    version = prices.draft(book=book, actor=priced.carol)
    key = PriceKey("a100", Basis.USED)
    prices.set_price(version=version, key=key, starts=OCTOBER, rate=Decimal(1))
    prices.activate(version=version, actor=priced.dave)
    blind = stored.fact(stored.at(2), "cv", committed=8, own=8, running=8, use=Use(0, 0, HOUR))
    stored.store(priced.cluster, blind)
    client.force_login(priced.dave)

    assert (
        "charges “Used”, and that was not measured of a100 at 2026-11-02 00:00 UTC."
    ) in stored.said(client.get("/clusters/lab/costs/focus.csv", MONTH))


def test_a_book_without_a_policy_is_named(lab, client):
    book = PriceBook.objects.create(name="main chargeback", purpose="chargeback", currency="USD")
    version = prices.draft(book=book, actor=lab.carol)
    key = PriceKey("a100", Basis.COMMITTED)
    prices.set_price(version=version, key=key, starts=OCTOBER, rate=Decimal(1))
    prices.activate(version=version, actor=lab.dave)
    client.force_login(lab.dave)

    assert "The price book “main chargeback” has no policy in this month" in stored.said(
        client.get("/clusters/lab/costs/focus.csv", MONTH)
    )


def test_without_a_book_there_is_no_file(lab, client):
    client.force_login(lab.dave)

    assert "GP-5502" in client.get("/clusters/lab/costs/focus.csv", MONTH).content.decode()


def held(lab, uid, starts, ends, queue="nlp-train", name="train", phase="admitted", **more):
    life = Lifetime.objects.create(
        cluster=lab.cluster, uid=uid, namespace="nlp", name=uid, job_name=name, created_at=starts,
        first_seen_at=starts, noted_at=starts, resource_version="1", **more,
    )  # fmt: skip
    Interval.objects.create(
        cluster=lab.cluster, lifetime=life, phase=phase, attempt=1, starts=starts, starts_quality="exact",
        ends=ends, ends_quality="exact", ended_by="finished", queue=queue, priority=0, devices=4,
        held=[{"flavor": "a100", "resource": "nvidia.com/gpu", "amount": 4}],
    )  # fmt: skip
    return life


def test_each_workload_has_what_it_held_in_the_month(priced, client):
    held(
        priced,
        "a",
        noted.when("2026-10-31T23:00:00Z"),
        noted.when("2026-11-01T02:00:00Z"),
        name="=evil",
    )
    held(
        priced,
        "b",
        noted.when("2026-11-02T00:00:00Z"),
        noted.when("2026-11-02T01:00:00Z"),
        queue="cv-train",
    )
    client.force_login(priced.alice)
    (row,) = read(client.get("/t/nlp/costs/workloads.csv", MONTH))

    assert (row["uid"], row["held_s"], row["admitted_s"]) == ("a", str(8 * HOUR), str(8 * HOUR))
    assert (row["job"], row["admitted_cost"], row["currency"]) == ("'=evil", "24.0000000000", "USD")
    client.force_login(priced.bob)
    assert read(client.get("/t/nlp/costs/workloads.csv", MONTH))[0]["admitted_cost"] == ""


@pytest.mark.parametrize("number", [1, 30])
def test_queries_do_not_grow(priced, client, number):
    for at in range(number):
        starts = noted.when(f"2026-11-03T{at % 24:02}:00:00Z")
        held(priced, f"w{at}", starts, noted.when("2026-11-05T00:00:00Z"))
    client.force_login(priced.alice)
    with counted("costs: workloads of a month as a file"):
        assert len(read(client.get("/t/nlp/costs/workloads.csv", MONTH))) == number
    with counted("costs: hours of a month as a file"):
        read(client.get("/t/nlp/costs/hourly.csv", MONTH))
