"""What meters and charts draw, and that they say the same in words."""

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.web.parts import MeterLine
from portal.web.templatetags import svg
from tests.portal.drawing import EVIL, NOW, draw, words

pytestmark = pytest.mark.time_machine(NOW, tick=False)


def line(**values):
    return MeterLine(**{"label": "H100", "unit": "GPU", "nominal": 16, "held": 12, **values})


AMOUNTS = st.integers(min_value=-5, max_value=10**6)
MAYBE = st.none() | AMOUNTS


class TestMeter:
    @pytest.mark.parametrize(
        ("values", "said"),
        [
            (
                {"borrowing_limit": 8, "lending_limit": 4},
                "12 of 16 held · 0 borrowed · may borrow 8 · lends up to 4",
            ),
            ({}, "12 of 16 held · 0 borrowed · may borrow what is free · lends all that is idle"),
            (
                {"borrowing_limit": 0, "lending_limit": 0, "borrowable_now": 0},
                "12 of 16 held · 0 borrowed · may not borrow · lends nothing",
            ),
            (
                {"held": 26, "borrowed": 10, "borrowing_limit": 8, "lent": 1, "borrowable_now": 0},
                "26 of 16 held · 10 borrowed · 2 over quota · may borrow 8"
                " · 0 free to borrow now · lends all that is idle · 1 lent now",
            ),
        ],
    )
    def test_the_same_numbers_in_words(self, values, said):
        html = draw("{% meter line %}", line=line(**values))

        assert words(html.split('class="meter-text"')[1]).lstrip("> ") == said

    def test_the_bar_shows_each_part(self):
        html = draw("{% meter l %}", l=line(held=20, borrowed=4, borrowable_now=4))

        assert re.findall(r"m-(ghost|own|borrowed|over|lent)", html) == ["ghost", "own", "borrowed"]
        assert 'class="m-own" x="0.00%" y="3" width="66.67%"' in html
        assert 'x1="66.67%"' in html

    def test_more_than_was_promised_without_borrowing_is_over_quota(self):
        parts = svg.shares(line(nominal=8, held=12))

        assert (parts.own, parts.borrowed, parts.over) == (8, 0, 4)

    @pytest.mark.parametrize(
        ("unit", "said"),
        [
            ("memory", "1 TiB / 2 TiB"),
            ("nvidia.com/gpu", "1,099,511,627,776 / 2,199,023,255,552 GPU"),
        ],
    )
    def test_the_unit_follows_the_resource(self, unit, said):
        html = draw("{% meter l %}", l=line(unit=unit, nominal=2**41, held=2**40))

        assert said in words(html)

    def test_a_label_is_escaped(self):
        assert "<img" not in draw("{% meter l %}", l=line(label=EVIL, unit=EVIL))

    @given(AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS, MAYBE, MAYBE, MAYBE)
    def test_no_part_leaves_the_bar_and_all_of_what_is_held_is_drawn(
        self, nominal, held, borrowed, lent, borrowing, lending, now
    ):
        parts = svg.shares(
            line(
                nominal=nominal,
                held=held,
                borrowed=borrowed,
                lent=lent,
                borrowing_limit=borrowing,
                lending_limit=lending,
                borrowable_now=now,
            )
        )

        assert parts.held == max(0, held)
        assert min(parts.own, parts.borrowed, parts.over, parts.lent, parts.ghost) >= 0
        for span in svg.spans(parts):
            end = Decimal(span.x.rstrip("%")) + Decimal(span.width.rstrip("%"))
            assert 0 <= end <= Decimal("100.01")


class TestStepChart:
    SAMPLES = (svg.Sample("10:00", 8, 16), svg.Sample("11:00", 20, 16))

    def test_the_numbers_stand_under_the_line(self):
        html = draw("{% stepchart s 'Held' 'GPU' %}", s=self.SAMPLES)

        assert 'aria-label="Held"' in html
        assert html.count('class="c-over"') == 1
        assert "10:00 8 16 11:00 20 16" in words(html)

    def test_an_empty_history_draws_nothing(self):
        html = draw("{% stepchart s title %}", s=[], title=EVIL)

        assert 'd=""' in html
        assert "<img" not in html
