"""What the tags and filters of every page write, and that nothing gets past the escaping."""

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace

import pytest
import time_machine
from django import forms
from django.template import Context, Template
from django.test import RequestFactory
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from portal.web import wording
from portal.web.parts import Change, Impact, MeterLine, Moment, Step
from portal.web.states import ALIASES, STATES, look
from portal.web.templatetags import portal, svg

NOW = datetime(2026, 11, 29, 14, 2, 11, tzinfo=UTC)
EVIL = '<img src=x onerror="1">'


@pytest.fixture(autouse=True)
def now():
    with time_machine.travel(NOW, tick=False):
        yield


def draw(text, **context):
    return Template("{% load portal svg %}" + text).render(Context(context))


def words(html):
    """The text of a piece of HTML, as a person reads it."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def ago(**span):
    return NOW - timedelta(**span)


class TestStates:
    def test_every_state_has_a_shape_of_the_sprite_and_a_known_tone(self):
        sprite = draw('{% include "parts/sprite.html" %}')

        for row in STATES.values():
            assert f'id="i-{row.icon}"' in sprite
            assert row.tone in {"run", "wait", "bad", "off", "done", "info"}

    def test_an_alias_leads_to_a_state(self):
        assert set(ALIASES.values()) <= set(STATES)
        assert not set(ALIASES) & set(STATES)

    @pytest.mark.parametrize("written", ["cannot_run", "Cannot run", "cannot-run", "impossible"])
    def test_the_spelling_of_a_state_does_not_matter(self, written):
        assert str(look(written).word) == "Cannot run"

    def test_an_enum_counts_by_its_value(self):
        assert look(SimpleNamespace(value="running")).icon == "play"

    def test_a_state_without_a_row_shows_its_own_name(self):
        assert look("being_moved").word == "Being moved"

    def test_nothing_is_unknown(self):
        assert str(look(None).word) == "Unknown"


class TestBadge:
    def test_it_says_icon_word_and_since(self):
        html = draw("{% badge state since %}", state="waiting", since=ago(minutes=41))

        assert 'class="badge wait"' in html
        assert "#i-clock" in html
        assert words(html) == "Waiting 41 min"
        assert 'datetime="2026-11-29T13:21:11+00:00"' in html

    def test_a_hint_is_reached_with_the_keyboard(self):
        html = draw("{% badge 'failed' hint='the image is gone' %}")

        assert 'tabindex="0"' in html
        assert words(html) == "Failed the image is gone"

    def test_a_word_of_its_own_replaces_the_table_s(self):
        assert words(draw("{% badge 'waiting' word='Waiting for a check' %}")) == (
            "Waiting for a check"
        )

    def test_a_word_begins_with_a_capital(self):
        assert words(draw("{% badge 'x' word='applied' %}")) == "Applied"

    def test_foreign_text_is_escaped(self):
        assert "<img" not in draw("{% badge x hint=x word=x %}", x=EVIL)


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


class TestSteps:
    def test_person_and_time_stand_under_each_step(self):
        rows = [
            Step("Request", "done", "Mara", NOW, url="/r/1"),
            Step("Decided", "failed", note=EVIL),
            Step("Applied", "now"),
            Step("In the cluster"),
        ]
        html = draw("{% steps rows %}", rows=rows)

        assert words(html).startswith("Request , done Mara 29 Nov 14:02")
        assert '<a href="/r/1">' in html
        assert re.findall(r'class="step (\w+)"', html) == ["done", "failed", "now", "todo"]
        assert "<img" not in html

    def test_a_time_line(self):
        html = draw("{% timeline m %}", m=[Moment(NOW, EVIL, "preempted"), Moment(NOW, "seen")])

        assert 'class="wait"' in html
        assert "#i-return" in html
        assert "<img" not in html


class TestDiff:
    CHANGES = (
        Change("Queue a", "nominal", 16, 24, "update", "8 more", "kind: Queue"),
        Change("Queue a", "stopped", False, True, "~"),
        Change("Queue b", "name", None, EVIL, "add"),
        Change("Queue c", "", None, None, "deleted", "no job uses it"),
    )

    def test_objects_are_grouped_by_what_happens_to_them(self):
        html = draw("{% diff c %}", c=self.CHANGES)

        assert re.findall(r"diff-group (\w+)", html) == ["add", "edit", "cut"]
        assert html.count('class="diff-object"') == 3
        assert "no job uses it" in html
        assert "kind: Queue" in html
        assert "<img" not in html

    def test_a_long_path_wraps_between_its_parts(self):
        html = draw("{{ p|breakable }}", p="spec.groups[a&b]")

        assert html == "spec<wbr>.groups<wbr>[a&amp;b]"

    def test_nothing_changes(self):
        assert words(draw("{% diff c %}", c=[])) == "Nothing changes."

    @pytest.mark.parametrize(
        ("value", "said"),
        [
            (None, wording.DASH),
            (True, "yes"),
            (False, "no"),
            (16000, "16,000"),
            ("Any", "Any"),
            (["a", 1], '["a", 1]'),
        ],
    )
    def test_values_read_as_words(self, value, said):
        assert wording.shown(value) == said

    def test_impact_puts_counts_first(self):
        html = draw("{% impact r %}", r=[Impact(1200, "jobs start", "run", (EVIL,), "soon")])

        assert words(html).startswith("1,200 jobs start soon")
        assert "<img" not in html


class TestLists:
    def list_page(self, text, path="/", **context):
        request = RequestFactory().get(path)
        return Template("{% load portal %}" + text).render(Context({"request": request, **context}))

    def test_a_head_sorts_and_then_turns_around(self):
        assert 'href="?sort=name"' in self.list_page("{% sort_th 'name' 'Job' %}")
        html = self.list_page("{% sort_th 'name' 'Job' 'num' %}", "/?sort=name&after=k&q=a%26b")
        assert 'aria-sort="ascending"' in html
        assert 'href="?sort=-name&amp;q=a%26b"' in html

    def test_a_head_says_that_the_order_is_turned(self):
        html = self.list_page("{% sort_th 'name' label %}", "/?sort=-name", label=EVIL)

        assert 'aria-sort="descending"' in html
        assert "<img" not in html

    def test_a_head_works_without_a_request(self):
        assert 'href="?sort=name"' in draw("{% sort_th 'name' 'Job' %}")

    def test_a_pager_of_two_keeps_the_place_of_the_other(self):
        class Rows(list):
            before, after = "", "k3"

        html = self.list_page('{% pager rows "b-" %}', "/?after=k1&b-before=old", rows=Rows("ab"))

        assert 'href="?after=k1&amp;b-after=k3"' in html

    def test_the_pager_keeps_the_filter_and_moves_the_key(self):
        class Rows(list):
            before, after, total = "", "k=", 48

        html = self.list_page("{% pager rows %}", "/?q=x&before=old", rows=Rows("ab"))

        assert 'href="?q=x&amp;after=k%3D"' in html
        assert 'rel="prev"' not in html
        assert "2 of 48 shown" in words(html)

    def test_the_last_page_only_counts(self):
        html = self.list_page("{% pager rows %}", rows=["a"])

        assert words(html) == "1 row"

    def test_an_empty_place_says_the_next_step(self):
        html = draw("{% empty 'No jobs' 'They show up here.' '/new' 'Send one' %}")

        assert words(html) == "No jobs They show up here. Send one"
        assert 'href="/new"' in html


class TestField:
    class Form(forms.Form):
        nominal = forms.IntegerField(label=EVIL, help_text=EVIL)
        until = forms.DateField(required=False)
        agree = forms.BooleanField(required=False)
        kind = forms.ChoiceField(choices=[("a", "A")], widget=forms.RadioSelect)
        key = forms.CharField(widget=forms.HiddenInput)

    def test_label_help_error_and_today_stand_together(self):
        html = draw("{% field f today=16 unit='GPUs' %}", f=self.Form({"nominal": "x"})["nominal"])

        assert 'for="id_nominal"' in html
        assert 'aria-describedby="id_nominal_helptext id_nominal_error"' in html
        assert 'id="id_nominal_error"' in html
        assert 'id="id_nominal_helptext"' in html
        assert "Enter a whole number." in html
        assert "today 16" in words(html)
        assert "<img" not in html

    def test_zero_today_is_shown(self):
        assert "today 0" in words(draw("{% field f today=0 %}", f=self.Form()["nominal"]))

    def test_what_may_stay_empty_says_so(self):
        assert "optional" in draw("{% field f %}", f=self.Form()["until"])

    def test_a_box_stands_before_its_label(self):
        html = draw("{% field f %}", f=self.Form()["agree"])

        assert html.index("<input") < html.index("<label")

    def test_choices_form_a_group(self):
        assert "<legend>Kind</legend>" in draw("{% field f %}", f=self.Form()["kind"])

    def test_a_hidden_field_is_only_its_input(self):
        assert words(draw("{% field f %}", f=self.Form()["key"])) == ""

    def test_a_whole_form_looks_the_same(self):
        assert str(self.Form()).count('<div class="field"') == 3


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


class TestErrorPanel:
    @pytest.mark.parametrize(
        ("status", "said"),
        [
            (403, "Ask a lead"),
            (404, "belongs to a tenant"),
            (409, "Nothing was written"),
            (500, "Try again"),
        ],
    )
    def test_it_says_what_to_do(self, status, said):
        error = {"message": EVIL, "code": "GP-1002", "status": status, "request_id": "7f3a"}
        html = draw('{% include "parts/error.html" %}', error=error)

        assert said in words(html)
        assert "GP-1002" in html
        assert "7f3a" in html
        assert "data-panel" in html
        assert "<img" not in html


@pytest.mark.parametrize("value", ["1e400", "-1e999", "9e99999999", "9" * 80])
@pytest.mark.parametrize("unit", ["", "cpu", "memory", "nvidia.com/gpu"])
def test_a_number_beyond_all_sense_is_a_dash(value, unit):
    assert wording.quantity(value, unit) == wording.DASH


def test_kueues_way_to_write_unlimited_is_still_a_number():
    assert wording.quantity("99999999999999999999", "nvidia.com/gpu").startswith("99,999")


@pytest.mark.parametrize(
    ("code", "asked"),
    [("GP-1003", True), ("GP-1403", True), ("GP-1121", False), ("GP-1405", False)],
)
def test_a_right_is_to_be_asked_for_only_where_somebody_can_give_it(code, asked):
    error = {"message": "No.", "code": code, "status": 403, "request_id": "r"}

    html = draw('{% include "parts/error.html" %}', error=error)

    assert ("for this right" in html) == asked
