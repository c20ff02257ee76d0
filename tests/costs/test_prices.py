"""Price books and policies: drafts change, what counts does not, and two people decide."""

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction

from costs import policy
from costs.models import Price, PriceBook
from costs.rates import Unpriced
from costs.selectors.prices import policies, price_book
from costs.services import prices
from costs.times import instant
from portal.web.errors import Stale
from tenants.models import AuditEvent
from tests.costs.ledger_rows import KEY, OCTOBER, book_of

pytestmark = pytest.mark.django_db


def test_a_version_begins_with_the_prices_of_the_one_before(lab):
    book = book_of(lab)
    version = prices.draft(book=book, actor=lab.carol)

    assert version.number == 2
    assert [x.rate for x in version.prices.all()] == [Decimal("2.50")]


def test_a_price_in_a_draft_is_replaced(lab):
    version = prices.draft(book=book_of(lab), actor=lab.carol)
    prices.set_price(version=version, key=KEY, starts=OCTOBER, rate=Decimal(3))

    assert version.prices.get().rate == 3


def test_what_the_rows_say_is_what_is_counted_with(lab):
    version = prices.draft(book=book_of(lab), actor=lab.carol)
    later = OCTOBER + timedelta(days=14)
    prices.set_price(version=version, key=KEY, starts=later, rate=None)
    book = price_book(version)

    assert book.rate(KEY, instant(later) - 1) == Decimal("2.50")
    with pytest.raises(Unpriced):
        book.rate(KEY, instant(later))


@pytest.mark.parametrize(
    ("starts", "rate"),
    [
        (OCTOBER, Decimal(-1)), (OCTOBER + timedelta(minutes=30), Decimal(1)),
        (OCTOBER, Decimal("0.00000000001")), (OCTOBER, Decimal("99999999999")),
    ],
)  # fmt: skip
def test_what_is_no_price_is_refused(lab, starts, rate):
    version = prices.draft(book=book_of(lab), actor=lab.carol)
    with pytest.raises(ValidationError):
        prices.set_price(version=version, key=KEY, starts=starts, rate=rate)
    assert version.prices.get().rate == Decimal("2.50")


def test_prices_of_an_active_version_are_not_changed(lab):
    version = book_of(lab).versions.get()
    with pytest.raises(prices.NotADraft):
        prices.set_price(version=version, key=KEY, starts=OCTOBER, rate=Decimal(3))
    for change in (
        lambda: version.prices.update(rate=Decimal(3)),
        lambda: version.prices.all().delete(),
        lambda: version.delete(),
        lambda: Price.objects.filter(price_version=version).update(flavor="h100"),
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()


def test_a_new_version_retires_the_one_before(lab):
    book = book_of(lab)
    prices.activate(version=prices.draft(book=book, actor=lab.carol), actor=lab.dave)

    assert list(book.versions.order_by("number").values_list("state", flat=True)) == [
        "retired",
        "active",
    ]


def test_who_wrote_what_is_charged_does_not_decide_on_it(lab):
    version = prices.draft(book=book_of(lab), actor=lab.carol)
    with pytest.raises(prices.SecondPerson):
        prices.activate(version=version, actor=lab.carol)


def test_who_changed_a_price_of_somebody_elses_draft_does_not_decide_on_it(lab):
    book = book_of(lab)
    version = prices.draft(book=book, actor=lab.dave)
    prices.set_price(version=version, key=KEY, starts=OCTOBER, rate=Decimal(1), actor=lab.carol)
    for either in (lab.carol, lab.dave):
        with pytest.raises(prices.SecondPerson):
            prices.activate(version=version, actor=either)
    other = prices.draft(book=book, actor=lab.dave)
    later = OCTOBER + timedelta(days=1)
    more = prices.set_price(version=other, key=KEY, starts=later, rate=Decimal(9))
    prices.drop_price(version=other, price=more.pk, actor=lab.carol)
    with pytest.raises(prices.SecondPerson):
        prices.activate(version=other, actor=lab.carol)


def test_a_draft_that_was_overtaken_does_not_count(lab):
    book = book_of(lab)
    second = prices.draft(book=book, actor=lab.carol)
    prices.set_price(version=second, key=KEY, starts=OCTOBER, rate=Decimal(2), actor=lab.carol)
    third = prices.draft(book=book, actor=lab.carol)
    prices.activate(version=third, actor=lab.dave)
    with pytest.raises(prices.Overtaken):
        prices.activate(version=second, actor=lab.dave)
    third.refresh_from_db()
    assert third.state == "active"


def test_a_second_click_begins_no_second_draft(lab):
    book = book_of(lab)
    first = prices.draft(book=book, actor=lab.carol)
    assert prices.draft(book=book, actor=lab.carol) == first
    assert prices.draft(book=book, actor=lab.dave) != first
    assert AuditEvent.objects.filter(action="prices.draft", actor=lab.carol).count() == 2


def test_a_policy_that_is_sent_again_is_proposed_once(lab):
    book = book_of(lab)
    same = {"book": book, "starts": OCTOBER + timedelta(days=40), "actor": lab.carol}
    first = prices.propose_policy(policy=policy.Policy(), **same)
    assert prices.propose_policy(policy=policy.Policy(), **same) == first
    assert prices.propose_policy(policy=policy.Policy(borrow=Fraction(1, 4)), **same) != first
    assert AuditEvent.objects.filter(action="policy.propose", actor=lab.carol).count() == 3


def test_one_person_is_enough_for_showback(lab):
    version = prices.draft(book=book_of(lab, "showback"), actor=lab.carol)

    assert prices.activate(version=version, actor=lab.carol).state == "active"


def test_a_version_without_prices_does_not_count(lab):
    book = PriceBook.objects.create(name="empty", purpose="showback", currency="USD")
    with pytest.raises(prices.NoPrices):
        prices.activate(version=prices.draft(book=book, actor=None), actor=lab.dave)


def test_a_version_is_activated_once(lab):
    version = book_of(lab).versions.get()
    with pytest.raises(Stale):
        prices.move(version, "active")


def test_a_policy_holds_from_its_date_on(lab):
    book = book_of(lab)
    later = OCTOBER + timedelta(days=31)
    wanted = policy.Policy(
        base=policy.Base.ADMITTED, borrow=Fraction(1, 4), credit=False, rest=policy.Rest.EVEN
    )
    proposed = prices.propose_policy(book=book, starts=later, policy=wanted, actor=lab.carol)
    assert policies(book.pk).at(instant(later)) == policy.Policy()
    prices.activate_policy(version=proposed, actor=lab.dave)
    found = policies(book.pk)

    assert found.at(instant(later)) == wanted
    assert found.at(instant(later) - 1) == policy.Policy()
    assert found.at(instant(OCTOBER) - 1) is None


def test_a_policy_of_the_same_date_takes_its_place(lab):
    book = book_of(lab)
    wanted = policy.Policy(borrow=Fraction(1))
    proposed = prices.propose_policy(book=book, starts=OCTOBER, policy=wanted, actor=lab.carol)
    prices.activate_policy(version=proposed, actor=lab.dave)

    assert policies(book.pk).at(instant(OCTOBER)) == wanted


def test_a_book_has_a_currency(lab):
    with pytest.raises(DatabaseError), transaction.atomic():
        PriceBook.objects.create(name="x", purpose="list", currency="usd")
