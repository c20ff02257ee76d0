"""What people type on pages of costs: nothing hidden, no name twice, no number in two readings."""

import pytest
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile

from costs.forms.fields import AmountField, LineField, ReasonField, WholeField, text_field
from costs.forms.metrics import MetricsForm
from costs.forms.prices import PriceForm
from costs.models import BillFile, BillSource, Price, PriceBook
from costs.services import prices
from tests.costs.focus import hour, table
from tests.costs.ledger_rows import book_of
from tests.queues import pages

pytestmark = pytest.mark.django_db

# Nothing that is drawn; fillers and spaces that no keyboard has; controls; other directions.
HIDDEN = [
    "\u200b\u200b", "\u3164", "\u2800", "\u00a0", "a\u200bb", "a\u3164b", "a\u00a0b", "a\u202eb",
    "\u2066a\u2069", "a\nb", "a\n", "a\rb", "a\tb", "a\x1b[31m", "\ufeffa", "a\u2028b", "a\0b",
    "e\u0301",
]  # fmt: skip
BOOK = {"name": "GPU time", "purpose": "chargeback", "currency": "USD"}
SOURCE = {"name": "AWS main", "kind": "focus", "currency": "USD", "accounts": "", "tenant_tag": ""}
PRICE = {
    "flavor": "a100", "basis": "borrowed", "purchase": "on_demand", "starts": "2026-10-01",
    "rate": "1.25",
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_broker(monkeypatch):
    monkeypatch.setattr("portal.celery.WakeUp.wake", lambda *args: True)


@pytest.fixture
def dave(lab, client):
    client.force_login(lab.dave)
    return client


def refused(client, url, data, field):
    answer = client.post(url, data)
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert "field-error" in pages.text(answer)
    return answer


@pytest.mark.parametrize("value", HIDDEN)
def test_names_of_books_and_sources_hide_nothing(dave, value):
    refused(dave, "/costs/books/new/", BOOK | {"name": value}, "name")
    for field in ("name", "tenant_tag"):
        refused(dave, "/costs/bills/new/", SOURCE | {field: value}, field)
    assert not PriceBook.objects.exists()
    assert not BillSource.objects.exists()


@pytest.mark.parametrize(
    "value", ["\u200b", "1234\n\u3164", "12\u200b34", "12\u00a034", "\u202e12", "12,34", "12\x1b"]
)
def test_accounts_hide_nothing(dave, value):
    refused(dave, "/costs/bills/new/", SOURCE | {"accounts": value}, "accounts")


def test_accounts_stand_on_lines_of_any_browser(dave):
    assert dave.post(
        "/costs/bills/new/", SOURCE | {"accounts": " 1234\r\n\r\n5678 \n1234\n"}
    ).status_code == 302  # fmt: skip
    assert BillSource.objects.get().accounts == ["1234", "5678"]


@pytest.mark.parametrize(
    "name", ["gpu time", "GPU TIME", " GPU time ", "GPU  time", "\uff27PU time"]
)
def test_no_book_has_the_name_of_another_one_in_another_spelling(dave, name):
    assert dave.post("/costs/books/new/", BOOK).status_code == 302
    answer = refused(dave, "/costs/books/new/", BOOK | {"name": name}, "name")
    assert "There is a price book of this name." in pages.text(answer)
    assert dave.post("/costs/books/new/", BOOK | {"name": "GPU times"}).status_code == 302


@pytest.mark.parametrize("name", ["aws main", "AWS MAIN", "AWS  main"])
def test_no_source_has_the_name_of_another_one_in_another_spelling(dave, name):
    assert dave.post("/costs/bills/new/", SOURCE).status_code == 302
    refused(dave, "/costs/bills/new/", SOURCE | {"name": name}, "name")


@pytest.mark.parametrize("name", ["Rechnung für GPUs", "团队价格", "हिन्दी", "A & B <c>"])
def test_a_name_may_be_in_any_script(dave, name):
    assert dave.post("/costs/books/new/", BOOK | {"name": name}).status_code == 302
    assert PriceBook.objects.get().name == name


def test_a_parameter_that_comes_twice_is_none(dave):
    answer = refused(dave, "/costs/bills/new/", SOURCE | {"name": ["A", "B"]}, "name")
    assert "This was sent twice." in pages.text(answer)
    source = BillSource.objects.create(name="AWS", currency="USD")
    file = SimpleUploadedFile("bill.csv", table(hour(0)), "text/csv")
    sent = {"file": file, "finalized": ["on", "on"]}
    refused(dave, f"/costs/bills/{source.pk}/", sent, "finalized")


def test_what_is_hidden_in_the_name_of_a_file_is_not_kept(dave):
    source = BillSource.objects.create(name="AWS", currency="USD")
    file = SimpleUploadedFile("bill\u202ev\u200b\x1b\nsc.csv", table(hour(0)), "text/csv")
    assert dave.post(f"/costs/bills/{source.pk}/", {"file": file}).status_code == 302
    assert BillFile.objects.get().name == "billvsc.csv"


@pytest.mark.parametrize(
    "flavor",
    ["A100", "a 100", "a_100", "-a", "a..b", "h\u0430100", "../a", "<b>", "a" * 254, "\u3164"],
)
def test_a_price_is_of_a_flavor_that_can_exist(lab, dave, flavor):
    version = prices.draft(book=book_of(lab), actor=lab.dave)
    before = Price.objects.count()
    refused(dave, f"/costs/versions/{version.pk}/", PRICE | {"flavor": flavor}, "flavor")
    assert Price.objects.count() == before


@pytest.mark.parametrize("flavor", ["a100", "not-there-yet", "h100.80gb", "1g"])
def test_a_flavor_may_get_its_price_before_it_exists(flavor):
    assert PriceForm(PRICE | {"flavor": flavor}).is_valid()


@pytest.mark.parametrize(
    "text",
    ["1_0", "\uff11\uff10", "\u0661\u0660", "010", "+10", "-1", "10.0", "1e1", "1 0", "10\n",
     "10\u00a0", "0", "301", "9" * 5000],
)  # fmt: skip
def test_a_whole_number_has_one_reading(text):
    with pytest.raises(ValidationError, match="whole number from 1 to 300"):
        WholeField(least=1, most=300).clean(text)


def test_a_whole_number_keeps_its_limits():
    field = WholeField(least=1, most=300, required=False)
    assert [field.clean(text) for text in ("1", " 10 ", "300", "", None)] == [
        1,
        10,
        300,
        None,
        None,
    ]


@pytest.mark.parametrize("text", ["\u200b", "a\u202eb", "a\0b", "a\x1bb", "a\rb", "e\u0301"])
def test_words_hide_nothing(text):
    for field in (ReasonField(max_length=500), text_field("Text")):
        with pytest.raises(ValidationError):
            field.clean(text)


def test_only_an_area_has_several_lines():
    assert text_field("Text").clean("a\r\n\tb\r\n") == "a\n\tb"
    with pytest.raises(ValidationError):
        ReasonField(max_length=500).clean("a\nb")


def test_an_empty_line_is_nothing_and_a_hidden_one_is_an_error():
    field = LineField(max_length=20, required=False)
    assert (field.clean("  "), field.clean(None)) == ("", "")
    for text in ("\u3164", "x" * 21):
        with pytest.raises(ValidationError):
            field.clean(text)


@pytest.mark.parametrize(
    ("options", "text", "words"),
    [
        ({"currency": "USD"}, "99999999999999.999", "too large"),
        ({"most": 4}, "-99999999999999", "too large"),
        ({"most": 4}, "1.00001", "At most 4 decimal places"),
        ({"most": 1}, "1.01", "At most 1 decimal place\\."),
        ({"currency": "USD"}, "1.001", "This currency has 2 decimal places"),
        ({"most": 4}, "1\u00a0", "Type a number"),
        ({"most": 4}, "1\n", "Type a number"),
    ],
)
def test_an_amount_is_refused_for_what_is_wrong_with_it(options, text, words):
    with pytest.raises(ValidationError, match=words):
        AmountField(**options).clean(text)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("interval", "1_0"), ("interval", "\uff11\uff10"), ("interval", "\u0661\u0660"),
        ("job", "\u3164"), ("job", "dc\u200bgm"), ("job", "dcgm\n"),
    ],
)  # fmt: skip
def test_a_source_of_metrics_is_asked_for_what_can_be_seen(field, value):
    good = {"server": "https://prometheus.example.com", "job": "dcgm", "interval": "10"}
    assert MetricsForm(good).is_valid()
    assert list(MetricsForm(good | {field: value}).errors) == [field]
