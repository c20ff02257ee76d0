"""What tests ask of every page: a text, a poll that changes nothing, nothing of others."""

import re
from typing import Any

from tests.cast import MARK

SEEN = re.compile(r'name="seen" value="([0-9a-f]+)"')


def text(answer: Any) -> str:
    return answer.content.decode()


def words(answer: Any) -> str:
    """The text without tags, spaces made single."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", text(answer)))


def unchanged(client: Any, url: str) -> None:
    """Ask again as a browser and as a polling htmx element would: nothing is sent twice."""
    first = client.get(url)
    assert client.get(url, headers={"If-None-Match": first["ETag"]}).status_code == 304
    part = client.get(url, headers={"HX-Request": "true"})
    assert "<!doctype" not in text(part)
    stamp = SEEN.search(text(part))
    assert stamp is not None
    again = client.get(url, {"seen": stamp[1]}, headers={"HX-Request": "true"})
    assert (again.status_code, again.content) == (204, b"")


def changed(client: Any, url: str, stamp: str) -> bool:
    return client.get(url, {"seen": stamp}, headers={"HX-Request": "true"}).status_code == 200


def stamp(client: Any, url: str) -> str:
    found = SEEN.search(text(client.get(url, headers={"HX-Request": "true"})))
    assert found is not None
    return found[1]


def nothing_of_others(answer: Any) -> None:
    assert MARK not in text(answer)
    assert MARK not in str(dict(answer.items()))
