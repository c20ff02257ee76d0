"""What the tags of every page write, and that nothing gets past the escaping."""

import re
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django import forms
from django.template import Context, Template
from django.test import RequestFactory

from portal.web import wording
from portal.web.parts import Change, Impact, Moment, Step
from portal.web.states import ALIASES, STATES, look
from tests.portal.drawing import EVIL, NOW, draw, words

pytestmark = pytest.mark.time_machine(NOW, tick=False)


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


@pytest.mark.parametrize(
    ("code", "asked"),
    [("GP-1003", True), ("GP-1403", True), ("GP-1121", False), ("GP-1405", False)],
)
def test_a_right_is_to_be_asked_for_only_where_somebody_can_give_it(code, asked):
    error = {"message": "No.", "code": code, "status": 403, "request_id": "r"}

    html = draw('{% include "parts/error.html" %}', error=error)

    assert ("for this right" in html) == asked
