"""Cursors of the API: sealed, bound to their list, stable while rows come and go."""

import base64
from datetime import timedelta

import pytest
from django.http import QueryDict
from django.test import override_settings
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from portal.web import cursors
from portal.web.cursors import BadCursor, BadQuery, asked, only, seal, unseal, window
from tenants.models import User

ORDERS = {"name": ("username",), "newest": ("-date_joined",)}
BOUND = ["people", "name"]
values = st.lists(st.one_of(st.integers(), st.text(max_size=60), st.booleans()), max_size=5)


def query(**given: object) -> QueryDict:
    made = QueryDict(mutable=True)
    made.update({name: str(value) for name, value in given.items()})
    return made


@given(values)
def test_a_place_comes_back_as_it_was(place):
    assert unseal(seal(BOUND, place), BOUND) == place


@given(values)
def test_equal_places_make_equal_cursors(place):
    assert seal(BOUND, place) == seal(BOUND, place)


@given(st.text(max_size=80))
def test_nothing_else_is_a_cursor(text):
    with pytest.raises(BadCursor):
        unseal(text, BOUND)


@given(st.integers(min_value=0), st.integers(1, 255))
def test_one_changed_bit_is_noticed(at, flip):
    sealed = bytearray(base64.urlsafe_b64decode(padded(seal(BOUND, ["somebody", 7]))))
    sealed[at % len(sealed)] ^= flip
    with pytest.raises(BadCursor):
        unseal(base64.urlsafe_b64encode(bytes(sealed)).decode().rstrip("="), BOUND)


def padded(text):
    return text + "=" * (-len(text) % 4)


def test_a_cursor_does_not_tell_what_is_in_it():
    token = seal(BOUND, ["B-SECRET-name", 4711])

    assert b"SECRET" not in base64.urlsafe_b64decode(padded(token))


@pytest.mark.parametrize("bound", [["people", "newest"], ["queues", "name"], ["peoplename"]])
def test_a_cursor_belongs_to_one_list_and_one_order(bound):
    with pytest.raises(BadCursor) as refused:
        unseal(seal(BOUND, ["x", 1]), bound)

    assert (refused.value.code, refused.value.status, refused.value.field) == (
        "GP-1420",
        400,
        "after",
    )


def test_a_new_key_still_reads_the_cursors_of_the_one_before():
    with override_settings(SECRET_KEY="an old key that signed before"):
        token = seal(BOUND, ["x", 1])
    with override_settings(
        SECRET_KEY="a new key", SECRET_KEY_FALLBACKS=["an old key that signed before"]
    ):
        assert unseal(token, BOUND) == ["x", 1]
    with override_settings(SECRET_KEY="a new key"), pytest.raises(BadCursor):
        unseal(token, BOUND)


@pytest.mark.parametrize("size", ["0", "201", "-1", "1e2", "", "٣", "9" * 400, "2.0", " 2"])
def test_a_size_that_is_none_is_refused(size):
    with pytest.raises(BadQuery) as refused:
        asked(query(size=size), "people", ORDERS)

    assert refused.value.field == "size"


@pytest.mark.parametrize("sort", ["password", "-name", "NAME", "name,newest", "\0"])
def test_an_order_that_is_none_is_refused(sort):
    with pytest.raises(BadQuery):
        asked(query(sort=sort), "people", ORDERS)


@pytest.mark.parametrize(
    ("text", "field"), [("stat=running", "stat"), ("size=1&size=2", "size"), ("=1", "")]
)
def test_a_parameter_that_nobody_reads_is_refused(text, field):
    with pytest.raises(BadQuery) as refused:
        only(QueryDict(text), ["size", "state"])

    assert refused.value.field == field


# --- pages ----------------------------------------------------------------------------------------


@pytest.fixture
def people(db):
    now = timezone.now()
    return [
        User.objects.create(username=f"p{number:02}", date_joined=now - timedelta(minutes=number))
        for number in range(9)
    ]


def walk(size=4, sort="newest", between=lambda: None):
    """Read every page, something happening after each; return the names."""
    found, after = [], {}
    while True:
        wanted = asked(query(size=size, sort=sort, **after), "people", ORDERS)
        page = window(User.objects.filter(username__startswith="p"), wanted)
        assert len(page.rows) <= size
        found += [row.username for row in page.rows]
        if not page.after:
            return found
        after = {"after": page.after}
        between()


@pytest.mark.parametrize("size", [1, 3, 9, 50])
@pytest.mark.parametrize("sort", ORDERS)
def test_pages_together_are_the_whole_list(people, size, sort):
    assert walk(size, sort) == [person.username for person in people]


def test_rows_that_come_meanwhile_move_no_page(people):
    numbers = iter(range(90, 99))

    def join():
        User.objects.create(username=f"p{next(numbers)}")

    assert walk(between=join) == [person.username for person in people]


def test_rows_that_go_meanwhile_hide_no_other(people):
    def leave():
        User.objects.filter(username="p03").delete()

    assert walk(size=4, between=leave) == [person.username for person in people]


def test_equal_keys_are_told_apart(people):
    User.objects.update(date_joined=people[0].date_joined)

    assert sorted(walk(size=2)) == [person.username for person in people]


def test_a_cursor_of_another_shape_is_refused():
    token = seal(["people", "name"], ["only-one"])

    with pytest.raises(BadCursor):
        asked(query(after=token), "people", ORDERS)


def test_the_longest_name_still_fits():
    assert len(cursors.seal(BOUND, ["n" * 253, "x" * 253, 1])) <= cursors.LONGEST
