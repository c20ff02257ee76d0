"""Talk to a running supervisor: one line of JSON there, one line of JSON back."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SOCKET = "control.sock"


class ControlError(RuntimeError):
    """The supervisor refused a request; the text is its reason."""


class NotRunningError(ControlError):
    """No supervisor answers for this data folder."""


@contextlib.contextmanager
def short_path(data: Path) -> Iterator[str]:
    """Give a name of the socket that fits: a socket's path may be 107 bytes long, a folder's more."""
    folder = os.open(data, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{SOCKET}"
    finally:
        os.close(folder)


def ask(data: Path, operation: str, timeout: float = 60.0, **values: object) -> dict[str, Any]:
    """Send one request to the supervisor of a data folder and return its answer."""
    try:
        with short_path(data) as path, socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(timeout)
            connection.connect(path)
            connection.sendall(json.dumps({"operation": operation} | values).encode() + b"\n")
            with connection.makefile("rb") as stream:
                line = stream.readline()
    except (FileNotFoundError, ConnectionError, NotADirectoryError) as error:
        msg = f"no cluster is running in {data}"
        raise NotRunningError(msg) from error
    if not line:
        msg = f"the cluster in {data} has just stopped"
        raise NotRunningError(msg)
    answer = json.loads(line)
    if "error" in answer:
        raise ControlError(str(answer["error"]))
    return dict(answer)
