"""How every page writes ages, times, numbers and names."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.utils import translation

from portal.web import wording
from portal.web.templatetags import portal
from tests.portal.drawing import NOW, draw, words

pytestmark = pytest.mark.time_machine(NOW, tick=False)


def ago(**span):
    return NOW - timedelta(**span)


class TestAge:
    @pytest.mark.parametrize(
        ("seconds", "said"),
        [
            (0, "0 s ago"),
            (59, "59 s ago"),
            (60, "1 min ago"),
            (3599, "59 min ago"),
            (3600, "1 h ago"),
            (2 * 86400 - 1, "47 h ago"),
            (2 * 86400, "2 d ago"),
            (-30, "in 30 s"),
        ],
    )
    def test_it_uses_the_largest_unit_that_still_says_enough(self, seconds, said):
        assert words(draw("{% age when %}", when=ago(seconds=seconds))) == said

    @pytest.mark.parametrize(
        ("seconds", "state"),
        [(0, "fresh"), (30, "fresh"), (31, "late"), (150, "late"), (151, "old")],
    )
    def test_it_turns_amber_and_red_by_its_interval(self, seconds, state):
        assert f'class="age is-{state}"' in draw("{% age when 15 %}", when=ago(seconds=seconds))

    def test_the_interval_may_be_a_timedelta(self):
        html = draw("{% age when every %}", when=ago(minutes=3), every=timedelta(minutes=1))

        assert "is-late" in html
        assert "late, expected every 1 min" in html

    def test_it_says_what_old_means(self):
        assert "too old to rely on, expected every 15 s" in draw("{% age w 15 %}", w=ago(hours=1))

    def test_the_exact_time_is_in_the_title(self):
        assert 'title="2026-11-29 14:02:11 UTC"' in draw("{% age when %}", when=NOW)

    def test_what_was_never_seen_says_so(self):
        assert words(draw("{% age when 15 %}", when=None)) == "never seen"

    def test_the_script_gets_the_words_of_the_page(self):
        with translation.override("en"):
            assert '"ago": "# ago"' in portal.age_words()


class TestTimes:
    @pytest.mark.parametrize(
        ("value", "said"),
        [
            (NOW, "29 Nov 14:02"),
            (datetime(2025, 1, 2, 3, 4, tzinfo=UTC), "2 Jan 2025 03:04"),
            (datetime(2026, 1, 2, 3, 4), "2 Jan 03:04"),  # noqa: DTZ001 - a time without a zone
            (date(2026, 12, 24), "24 Dec 2026"),
            (None, "–"),  # noqa: RUF001
        ],
    )
    def test_a_moment(self, value, said):
        assert words(draw("{{ v|moment }}", v=value)) == said

    @pytest.mark.parametrize(
        ("value", "said"),
        [
            (NOW, "14:02:11"),
            (NOW - timedelta(days=1), "28 Nov 14:02"),
            (datetime(2025, 1, 2, 3, 4, tzinfo=UTC), "2 Jan 2025 03:04"),
        ],
    )
    def test_a_moment_of_today_has_its_second(self, value, said):
        assert words(draw("{{ v|clock }}", v=value)) == said

    @pytest.mark.parametrize(
        ("value", "said"),
        [(2460, "41 min"), (timedelta(hours=3), "3 h"), (-5, "0 s"), (None, wording.DASH)],
    )
    def test_a_duration(self, value, said):
        assert wording.duration(value) == said


class TestNumbers:
    @pytest.mark.parametrize(
        ("value", "said"),
        [
            (1, "1 GPU"),
            (16, "16 GPUs"),
            (0, "0 GPUs"),
            (Decimal("0.5"), "0.5 GPUs"),
            (12345, "12,345 GPUs"),
            (None, wording.DASH),
            ("many", wording.DASH),
            (float("nan"), wording.DASH),
        ],
    )
    def test_gpus(self, value, said):
        assert wording.gpus(value) == said

    @pytest.mark.parametrize(
        ("value", "resource", "said"),
        [
            (512 * 2**30, "memory", "512 GiB"),
            (2**40 * 5 // 4, "memory", "1.25 TiB"),
            (1000, "memory", "1,000 B"),
            (0, "memory", "0 B"),
            (1500, "cpu", "1.5 CPU"),
            (1_536_000, "cpu", "1,536 CPU"),
            (8, "CPU", "8"),
            (8, "nvidia.com/gpu", "8 GPUs"),
            (8, "GPU", "8 GPUs"),
            (8, "", "8"),
            (None, "memory", wording.DASH),
            ("", "memory", wording.DASH),
        ],
    )
    def test_a_quantity_in_the_unit_that_people_use(self, value, resource, said):
        assert wording.quantity(value, resource) == said

    @pytest.mark.parametrize(
        ("value", "said"),
        [(4, "+4"), (-2, f"{wording.MINUS}2"), (0, "±0"), (None, wording.DASH)],
    )
    def test_a_difference_has_a_sign(self, value, said):
        assert wording.signed(value) == said

    def test_a_bare_number(self):
        assert wording.number(1234567) == "1,234,567"


class TestNames:
    def test_a_short_name_stays(self):
        assert draw("{% name n %}", n="nlp-train") == '<code class="name">nlp-train</code>'

    def test_a_long_name_keeps_both_ends_and_its_full_form(self):
        full = "train-" + "x" * 60 + "-seed-17"
        html = draw("{% name n %}", n=full)

        assert f'title="{full}"' in html
        assert words(html).startswith("train-")
        assert words(html).endswith("-seed-17")
        assert len(words(html)) == 40

    def test_characters_that_turn_text_around_are_shown(self):
        assert words(draw("{% name n %}", n="a\u202egpj\u200b")) == r"a\u202egpj\u200b"

    def test_a_digest_is_short(self):
        html = draw("{% digest d %}", d="sha256:9f2c1be07d11aa42c3")

        assert words(html) == "9f2c1be07d11"
        assert 'title="sha256:9f2c1be07d11aa42c3"' in html

    def test_no_digest_is_a_dash(self):
        assert draw("{% digest d %}", d="") == wording.DASH

    def test_an_icon_may_have_a_label(self):
        assert 'aria-label="Menu"' in draw("{% icon 'menu' 'Menu' %}")
        assert 'aria-hidden="true"' in draw("{% icon 'menu' %}")


class TestFigures:
    def test_what_is_missing_stands_out(self):
        html = draw("{% figures 16 9 7 'nvidia.com/gpu' %}")

        assert words(html) == "Asked 16 GPUs Free 9 GPUs Missing 7 GPUs"
        assert "missing alarm" in html

    def test_nothing_missing_is_calm(self):
        assert "alarm" not in draw("{% figures 4 9 0 %}")


@pytest.mark.parametrize("value", ["1e400", "-1e999", "9e99999999", "9" * 80])
@pytest.mark.parametrize("unit", ["", "cpu", "memory", "nvidia.com/gpu"])
def test_a_number_beyond_all_sense_is_a_dash(value, unit):
    assert wording.quantity(value, unit) == wording.DASH


def test_kueues_way_to_write_unlimited_is_still_a_number():
    assert wording.quantity("99999999999999999999", "nvidia.com/gpu").startswith("99,999")
