"""From the bytes of a list or a watch to objects, read only as far as they are wanted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec
import orjson
import urllib3

from kube import errors
from kube.answers import Object
from kube.classify import classify
from kube.kinds import Kind
from kube.transport import pieces

MAX_LINE: Final = 16 * 1024 * 1024
INITIAL_END: Final = "k8s.io/initial-events-end"

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]
Change = tuple[ChangeType, Object]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Source:
    """What is followed, and how much of it is read.

    ``shape`` is what msgspec reads of each object (see :mod:`kube.shapes`). ``labels`` and
    ``fields`` are selectors for the server; ``keep`` drops objects that no selector can name.
    """

    kind: Kind
    shape: Any = dict[str, Any]
    labels: str = ""
    fields: str = ""
    keep: Callable[[Object], bool] | None = None

    @property
    def selectors(self) -> tuple[tuple[str, str], ...]:
        """Return the query parameters that narrow the answer."""
        given = (("labelSelector", self.labels), ("fieldSelector", self.fields))
        return tuple((name, value) for name, value in given if value)


@dataclass(frozen=True, slots=True)
class Mark:
    """A bookmark; ``complete`` ends the list inside a watch."""

    resource_version: str
    complete: bool = False


Line = Mark | list[Change]


class _Added(msgspec.Struct, Generic[T], tag_field="type", tag="ADDED"):
    object: T


class _Modified(msgspec.Struct, Generic[T], tag_field="type", tag="MODIFIED"):
    object: T


class _Deleted(msgspec.Struct, Generic[T], tag_field="type", tag="DELETED"):
    object: T


class _Place(msgspec.Struct):
    resourceVersion: str  # noqa: N815 - the name on the wire
    annotations: dict[str, str] | None = None


class _Marked(msgspec.Struct):
    metadata: _Place


class _Bookmark(msgspec.Struct, tag_field="type", tag="BOOKMARK"):
    object: _Marked


class _Frame(msgspec.Struct):
    """Any line; the object inside is left alone."""

    type: str
    object: msgspec.Raw


class _ListMetadata(msgspec.Struct):
    resourceVersion: str = ""  # noqa: N815 - the name on the wire
    next: str = msgspec.field(name="continue", default="")


class _Page(msgspec.Struct, Generic[T]):
    metadata: _ListMetadata
    items: list[T] | None = None


_TYPES: Final[dict[type, ChangeType]] = {
    _Added: "ADDED",
    _Modified: "MODIFIED",
    _Deleted: "DELETED",
}
_frame = msgspec.json.Decoder(_Frame)
_any_page = msgspec.json.Decoder(_Page[Any])


class Reader:
    """Reads the answers about one source."""

    def __init__(self, source: Source) -> None:
        """Prepare the decoders."""
        self._keep = source.keep
        self._line = msgspec.json.Decoder(_line_of(source.shape))
        self._page: msgspec.json.Decoder[_Page[Any]] = msgspec.json.Decoder(_page_of(source.shape))

    def page(self, body: bytes) -> tuple[list[Object], str, str]:
        """Return the kept objects of a page, the list's version and the next page's position."""
        try:
            found = self._page.decode(body)
        except msgspec.ValidationError:
            found = _read_whole(body)
        except msgspec.DecodeError:
            raise _no_list() from None
        items = [each for each in found.items or () if _is_sound(each)]
        if self._keep is not None:
            items = [each for each in items if self._keep(each)]
        return items, found.metadata.resourceVersion, found.metadata.next

    def lines(self, batch: list[bytes]) -> Iterator[Line]:
        """Yield changes that came together as one list, and marks between them.

        Changes before a broken or refused line are yielded before it raises.
        """
        together: list[Change] = []
        for line in batch:
            try:
                found = self._read(line)
            except errors.ClusterError:
                if together:
                    yield together
                raise
            if isinstance(found, Mark):
                if together:
                    yield together
                    together = []
                yield found
            else:
                together.append(found)
        if together:
            yield together

    def kept(self, changes: list[Change]) -> list[Change]:
        """Return the changes that are wanted; what is no longer wanted is told as deleted."""
        if self._keep is None:
            return changes
        return list(self._wanted(changes))

    def _wanted(self, changes: list[Change]) -> Iterator[Change]:
        for change, item in changes:
            if change == "DELETED" or self._keep is None or self._keep(item):
                yield change, item
            elif change == "MODIFIED":
                yield "DELETED", item

    def _read(self, line: bytes) -> Mark | Change:
        try:
            found = self._line.decode(line)
        except msgspec.MsgspecError:
            return _read_odd(line)
        if isinstance(found, _Bookmark):
            place = found.object.metadata
            ended = (place.annotations or {}).get(INITIAL_END) == "true"
            return Mark(place.resourceVersion, ended)
        if not _is_sound(found.object):
            raise _broken()
        return _TYPES[type(found)], found.object


def _line_of(shape: Any) -> Any:
    """Return the type of a line about objects of that shape."""
    added: Any = _Added
    modified: Any = _Modified
    deleted: Any = _Deleted
    return added[shape] | modified[shape] | deleted[shape] | _Bookmark


def _page_of(shape: Any) -> Any:
    """Return the type of a page of objects of that shape."""
    page: Any = _Page
    return page[shape]


def _is_sound(item: Any) -> bool:
    """Return whether an object has the names by which everything finds it."""
    metadata = item.get("metadata") if isinstance(item, dict) else None
    return isinstance(metadata, dict) and {"name", "uid", "resourceVersion"} <= metadata.keys()


def _read_whole(body: bytes) -> _Page[Any]:
    """Read a page without the shape: one object of odd form must not hide the others."""
    try:
        return _any_page.decode(body)
    except msgspec.MsgspecError:
        raise _no_list() from None


def _read_odd(line: bytes) -> Change:
    """Read a line that the shape does not fit: an odd object, an error of the server, nonsense."""
    try:
        frame = _frame.decode(line)
        found = orjson.loads(bytes(frame.object))
        if frame.type == "ERROR":
            raise classify(int(found.get("code") or 500), {}, bytes(frame.object))
    except (msgspec.MsgspecError, orjson.JSONDecodeError, AttributeError, TypeError, ValueError):
        raise _broken() from None
    for change in _TYPES.values():
        if frame.type == change and _is_sound(found):
            return change, found
    if frame.type not in (*_TYPES.values(), "BOOKMARK"):
        message = f"a watch line has an unknown type: {frame.type[:40]}"
        raise errors.Protocol(message)
    raise _broken()


def _broken() -> errors.ClusterError:
    return errors.Unreachable("a line of the watch is broken")


def _no_list() -> errors.ClusterError:
    return errors.Protocol("the cluster's answer is not a list")


def batches(response: urllib3.BaseHTTPResponse, stop: threading.Event) -> Iterator[list[bytes]]:
    """Yield the complete lines that arrive together; a cut last line is dropped."""
    rest: list[bytes] = []
    size = 0
    for part in pieces(response):
        if stop.is_set():
            return
        end = part.rfind(b"\n")
        if end < 0:
            rest.append(part)
            size += len(part)
            if size > MAX_LINE:
                message = "a line of the watch is too long"
                raise errors.Protocol(message)
            continue
        whole = b"".join((*rest, part[:end]))
        rest, size = [part[end + 1 :]], len(part) - end - 1
        found = [line for line in whole.split(b"\n") if line.strip()]
        if found:
            yield found
