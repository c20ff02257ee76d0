"""Splitting and rounding: the parts add up, in any order, for any sign, and to the cent."""

import re
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costs import currencies, money
from costs.rounding import DoesNotAddUp, NoWeights, settle, settle_fractions, split
from costs.statements import lines, net, statement, total

keys = st.text("abcdefgh*", min_size=1, max_size=4)
totals = st.integers(-(10**15), 10**15)
decimals = st.decimals(0, 10**6, places=6)
numbers = st.integers(0, 10**9) | st.fractions(0, 100, max_denominator=999) | decimals
weights = st.dictionaries(keys, numbers, min_size=1, max_size=9).filter(
    lambda found: any(found.values())
)
grains = st.dictionaries(keys, st.integers(-(10**16), 10**16), max_size=9)


@given(totals, weights)
def test_parts_add_up_for_any_weights_and_sign(whole, found):
    assert sum(split(whole, found).values()) == whole


@given(totals, weights)
def test_no_part_is_a_unit_off(whole, found):
    exact = {key: Fraction(x) for key, x in found.items()}
    of = sum(exact.values())

    assert all(
        abs(part - whole * exact[key] * Fraction(of.denominator, of.numerator)) < 1
        for key, part in split(whole, found).items()
    )


@given(totals, weights, st.randoms())
def test_the_order_of_tenants_changes_nothing(whole, found, random):
    mixed = dict(random.sample(list(found.items()), len(found)))

    assert split(whole, mixed) == split(whole, found)


@given(totals, weights)
def test_a_credit_is_the_same_as_a_debit_with_its_sign(whole, found):
    assert split(-whole, found) == {key: -part for key, part in split(whole, found).items()}


@given(grains, st.sampled_from(["USD", "EUR", "JPY", "KWD"]))
def test_a_statement_adds_up_to_the_bill_in_minor_units(costs, currency):
    found = statement(costs, currency)
    exact = money.from_grains(sum(costs.values()))

    assert sum(found.values()) == total(costs, currency) == money.minor(exact, currency)


@given(grains, st.randoms())
def test_a_statement_does_not_depend_on_the_order_of_tenants(costs, random):
    mixed = dict(random.sample(list(costs.items()), len(costs)))

    assert statement(mixed, "USD") == statement(costs, "USD")


@given(st.dictionaries(keys, st.fractions(-1000, 1000, max_denominator=3600), max_size=6))
def test_the_lines_of_a_payer_add_up_to_its_total(amounts):
    rounded = money.minor(sum(amounts.values(), Fraction(0)), "USD")

    assert sum(lines(amounts, rounded, "USD").values()) == rounded


@pytest.mark.parametrize("found", [{}, {"a": 0}, {"a": 0, "b": Decimal(0)}, {"a": 2, "b": -1}])
def test_nobody_to_split_among_is_an_error(found):
    with pytest.raises(NoWeights):
        split(100, found)


def test_shares_that_are_not_the_total_are_refused():
    with pytest.raises(DoesNotAddUp):
        settle({"a": 10, "b": 10}, 10, 5)
    with pytest.raises(DoesNotAddUp):
        settle_fractions({"a": Fraction(1, 2)}, 2)


def test_ties_go_to_the_smaller_name():
    assert split(1, {"b": 1, "a": 1, "c": 1}) == {"a": 1, "b": 0, "c": 0}


@pytest.mark.parametrize(
    ("amount", "currency", "shown"),
    [
        ("0.005", "USD", "0.00"), ("0.015", "USD", "0.02"), ("-0.005", "USD", "0.00"),
        ("0.5", "JPY", "0"), ("1.5", "JPY", "2"), ("0.0005", "KWD", "0.000"),
        ("1.23456", "KWD", "1.235"),
    ],
)  # fmt: skip
def test_halves_go_to_the_even_neighbour_in_the_currencys_own_units(amount, currency, shown):
    assert str(money.rounded(Decimal(amount), currency)) == shown


def test_every_currency_has_its_places():
    assert all(re.fullmatch("[A-Z]{3}", each) for each in currencies.CODES)
    assert set(currencies.EXPONENTS) < currencies.CODES
    assert {"USD", "EUR", "CNY", "JPY", "KWD"} < currencies.CODES
    assert not {"XAU", "XTS", "XXX", "DEM"} & currencies.CODES


@pytest.mark.parametrize("code", ["", "usd", "US", "USDX", "€", "U1D"])
def test_what_is_no_currency_is_refused(code):
    with pytest.raises(money.NotMoney):
        money.places(code)


@pytest.mark.parametrize(
    ("text", "value"), [("5", "5"), ("0.005", "0.005"), ("-0.01", "-0.01"), ("007.50", "7.50")]
)
def test_a_typed_amount_is_read_as_it_stands(text, value):
    assert money.typed(text) == Decimal(value)


@pytest.mark.parametrize(
    "text",
    ["", " 5", "1,234.56", "1.234,56", "€5", "5€", "1e3", ".5", "5.", "+5", "--5", "NaN", "Infinity",
     "0x10", "\u0665", "1_000", "9" * 41],
)  # fmt: skip
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(money.NotMoney):
        money.typed(text)


@pytest.mark.parametrize(
    ("text", "value"), [("1.5E-7", "0.00000015"), ("1e3", "1000"), ("-.5", "-0.5"), ("+5.", "5")]
)
def test_a_bill_may_write_exponents(text, value):
    assert money.imported(text) == Decimal(value)


@pytest.mark.parametrize("text", ["", "NULL", "1,5", "1e999", "e5", "NaN", "1 000"])
def test_what_is_no_amount_of_a_bill_is_refused(text):
    with pytest.raises(money.NotMoney):
        money.imported(text)


@given(st.lists(st.decimals(-(10**18), 10**18, places=12), max_size=20))
def test_adding_amounts_loses_nothing(amounts):
    exact = sum(map(Fraction, amounts), Fraction(0))

    assert Fraction(money.add(amounts)) == exact


@given(st.integers(-(10**25), 10**25))
def test_grains_come_back(count):
    assert money.grains(money.from_grains(count)) == count


def test_the_net_of_a_row_is_the_sum_of_its_parts_and_adjustments():
    parts = {"cpu": Decimal("10.00"), "ram": Decimal("5.00"), "gpu": Decimal("100.00")}
    off = {"cpu": Decimal("-1.50"), "gpu": Decimal("-20.00"), "ram": Decimal("0.25")}

    assert net(parts, off) == (Decimal("115.00"), Decimal("-21.25"), Decimal("93.75"))
