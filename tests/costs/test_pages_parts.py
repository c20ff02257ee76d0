"""What pages are made of: files that run nothing, columns that touch, numbers in words."""

import csv
import io
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costs.selectors.hours import Sums
from costs.selectors.months import Day, Month
from costs.times import HOUR
from costs.used import Use
from costs.views import chart, files, words
from portal.web.wording import DASH, MINUS


def content(answer):
    return answer.content.decode("utf-8-sig")


@pytest.mark.parametrize(
    "sign",
    ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\u00a0 ="],
)
def test_text_is_never_a_formula(sign):
    assert files.cell(f"{sign}1+1") == f"'{sign}1+1"


@pytest.mark.parametrize(
    ("value", "text"),
    [(-5, "-5"), (Decimal("-1.50"), "-1.50"), (Decimal("1E+3"), "1000"), (None, ""), ("a=b", "a=b")],
)  # fmt: skip
def test_numbers_stay_numbers(value, text):
    assert files.cell(value) == text


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=9), min_size=2, max_size=2)
)
def test_whatever_is_in_a_cell_comes_back_as_one(row):
    answer = files.response(["x"], ["a", "b"], [row])
    back = list(csv.reader(io.StringIO(content(answer), newline="")))

    assert [cell.removeprefix("'") for cell in back[1]] == [each.removeprefix("'") for each in row]
    assert answer.content.startswith(b"\xef\xbb\xbf")


def test_a_name_of_a_file_cannot_say_more_than_a_name():
    answer = files.response(['a"b\r\nSet-Cookie: x', "../..", "ＡＢ", "é;/"], [], [])  # noqa: RUF001

    assert answer["Content-Disposition"] == 'attachment; filename="a-b-Set-Cookie-x.csv"'


SIZES = st.integers(0, 10**9)


@given(
    st.lists(
        st.builds(Sums, own=SIZES, lent=SIZES, idle=SIZES, borrowed=SIZES, committed=SIZES),
        max_size=31,
    )
)
def test_columns_touch_and_stay_in_the_picture(found):
    days = [Day(n * 24 * HOUR, {}, 0, 0, 0, sums) for n, sums in enumerate(found)]
    for column in chart.chart(days).columns:
        bottom = chart.HEIGHT
        for box in column.boxes:
            assert box.y + box.height == bottom
            bottom = box.y
        assert bottom >= chart.TOP
        assert column.line >= chart.TOP


@pytest.mark.parametrize(
    ("hours", "top"), [(0, 2), (2, 2), (3, 4), (61, 80), (100, 100), (101, 200)]
)
def test_scales_end_on_even_numbers(hours, top):
    assert chart.ceiling(hours) == top


def test_months_follow_each_other():
    assert [str(Month(2026, 12).moved(by)) for by in (-12, -1, 0, 1)] == [
        "2025-12", "2026-11", "2026-12", "2027-01",
    ]  # fmt: skip
    assert Month(2028, 2).span.seconds == 29 * 24 * HOUR


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [
        ("1234.565", "USD", "1,234.56"),
        ("-0.5", "JPY", "0"),
        ("-1.5", "JPY", f"{MINUS}2"),
        ("2", "KWD", "2.000"),
    ],
)
def test_money_has_the_places_of_its_currency(amount, currency, text):
    assert words.money_text(Decimal(amount), currency) == text


def test_almost_all_is_not_all():
    assert words.percent_text(Fraction(9999, 10000)) == "99 %"
    assert words.rate_text(Decimal("2.5000000000")) == "2.50"
    assert words.rate_text(Decimal("0.0123000000")) == "0.0123"


@pytest.mark.parametrize(
    ("seen", "text"),
    [(10, ("1.0", "100 % seen")), (9, ("1.0", "at least; 90 % seen")), (7, (DASH, "only 70 % seen, too little for a number"))],
)  # fmt: skip
def test_used_time_says_how_much_of_it_was_seen(seen, text):
    assert words.use_text(Use(1000 * HOUR, seen * HOUR, 10 * HOUR)) == text
    assert words.use_text(Use(0, 0, 0)) == words.use_text(None)
