"""page(): the whole page or the named part, and nothing when nothing has changed."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import QueryDict
from django.template import engines
from django.test import RequestFactory
from django_htmx.middleware import HtmxDetails

from portal.web.pages import page, page_if_moved

TEXT = (
    "{% load partials %}<html>{% partialdef rows inline %}<p>{{ n }}</p>{% endpartialdef %}</html>"
)


@pytest.fixture(autouse=True)
def template(tmp_path, settings):
    (tmp_path / "probe.html").write_text(TEXT)
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]
    engines._engines = {}
    yield
    engines._engines = {}


def request(path="/probe", method="get", **headers):
    made = getattr(RequestFactory(), method)(path, headers=headers)
    made.user = AnonymousUser()
    made.htmx = HtmxDetails(made)
    return made


def show(made, seen=None, status=200, n=1):
    return page(made, "probe.html", {"n": n}, partial="rows", seen=seen, status=status)


def test_a_browser_gets_the_whole_page():
    assert show(request()).content == b"<html><p>1</p></html>"


def test_htmx_gets_the_named_part():
    assert show(request(hx_request="true")).content == b"<p>1</p>"


@pytest.mark.parametrize("header", ["hx_boosted", "hx_history_restore_request"])
def test_a_boosted_link_and_a_restored_page_get_the_whole_page(header):
    assert b"<html>" in show(request(hx_request="true", **{header: "true"})).content


def test_a_personal_page_is_not_kept():
    response = show(request())

    assert response["Cache-Control"] == "private, no-store"
    assert {"HX-Request", "Cookie"} <= set(response["Vary"].split(", "))


def test_a_page_with_a_stamp_may_be_kept_and_is_asked_for():
    response = show(request(), seen=7)

    assert response["Cache-Control"] == "private, no-cache"
    assert response["ETag"].startswith('W/"')


def test_the_same_generation_is_not_sent_again():
    stamp = show(request(), seen=7)["ETag"]

    response = show(request(if_none_match=stamp), seen=7)

    assert (response.status_code, response.content) == (304, b"")


def test_a_new_generation_is_sent():
    stamp = show(request(), seen=7)["ETag"]

    assert show(request(if_none_match=stamp), seen=8).status_code == 200


def test_a_polling_part_of_the_same_generation_gets_204():
    stamp = show(request(hx_request="true"), seen=7)["ETag"][3:-1]

    response = show(request(f"/probe?seen={stamp}", hx_request="true"), seen=7)

    assert (response.status_code, response.content) == (204, b"")


def test_a_stamp_is_of_one_person_one_part_and_one_query():
    made = request()
    other = request()
    other.user.pk = 7
    stamps = {
        show(made, seen=7)["ETag"],
        show(other, seen=7)["ETag"],
        show(request(hx_request="true"), seen=7)["ETag"],
        show(request("/probe?sort=age"), seen=7)["ETag"],
    }

    assert len(stamps) == 4


def test_the_answer_to_a_form_is_always_sent():
    stamp = show(request(), seen=7)["ETag"]

    response = show(request(method="post", if_none_match=stamp), seen=7)

    assert response.status_code == 200


def test_a_page_with_errors_has_its_status_and_no_stamp():
    response = show(request(), seen=7, status=422)

    assert response.status_code == 422
    assert "ETag" not in response.headers
    assert response["Cache-Control"] == "private, no-store"


def test_the_template_knows_its_stamp(tmp_path, settings):
    (settings.TEMPLATES[0]["DIRS"][0] / "stamp.html").write_text("{{ seen }}")

    response = page(request(), "stamp.html", {}, seen=7)

    assert response["ETag"] == f'W/"{response.content.decode()}"'
    assert QueryDict(f"seen={response.content.decode()}")


# --- pages that know cheaply whether they moved ---------------------------------------------------


class Drawing:
    """A context whose making is counted."""

    def __init__(self, n=1):
        self.n = n
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return {"n": self.n}, self.n


def show_if(made, drawing, moved, **more):
    return page_if_moved(made, "probe.html", drawing, "rows", moved=moved, **more)


def test_nothing_is_made_while_nothing_moves():
    drawing = Drawing()
    etag = show_if(request(), drawing, moved=7)["ETag"]

    again = show_if(request(if_none_match=etag), drawing, moved=7)

    assert (again.status_code, again.content, again["ETag"]) == (304, b"", etag)
    assert drawing.calls == 1


def test_a_poll_makes_nothing_while_nothing_moves():
    drawing = Drawing()
    shown = show_if(request(hx_request="true"), drawing, moved=7)
    stamp = shown["ETag"].removeprefix('W/"').removesuffix('"')

    again = show_if(request(f"/probe?seen={stamp}", hx_request="true"), drawing, moved=7)

    assert (shown.content, again.status_code, drawing.calls) == (b"<p>1</p>", 204, 1)


def test_what_moved_and_looks_the_same_is_made_and_not_sent():
    drawing = Drawing()
    etag = show_if(request(), drawing, moved=7)["ETag"]

    again = show_if(request(if_none_match=etag), drawing, moved=8)

    assert (again.status_code, drawing.calls) == (304, 2)
    assert again["ETag"] != etag
    assert show_if(request(if_none_match=again["ETag"]), drawing, moved=8).status_code == 304
    assert drawing.calls == 2


def test_what_looks_different_is_sent():
    etag = show_if(request(), Drawing(1), moved=7)["ETag"]

    again = show_if(request(if_none_match=etag), Drawing(2), moved=8)

    assert (again.status_code, again.content) == (200, b"<html><p>2</p></html>")


@pytest.mark.parametrize("tag", ["*", 'W/""', "nonsense", 'W/"' + "0" * 20 + '"'])
def test_a_tag_that_is_not_ours_gets_the_page(tag):
    assert show_if(request(if_none_match=tag), Drawing(), moved=7).status_code == 200


def test_every_answer_tells_how_fresh_the_data_is():
    times = {"lab": datetime(2026, 1, 1, tzinfo=UTC), "edge": datetime(2026, 1, 2, tzinfo=UTC)}
    first = show_if(request(), Drawing(), moved=7, alive=times)
    again = show_if(request(if_none_match=first["ETag"]), Drawing(), moved=7, alive=times)

    assert (first.status_code, again.status_code) == (200, 304)
    assert first["X-Alive"] == again["X-Alive"] == "edge=1767312000000000 lab=1767225600000000"
    assert "X-Alive" not in show_if(request(), Drawing(), moved=7, alive={})
