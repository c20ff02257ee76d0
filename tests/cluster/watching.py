"""What tests of the control plane look at from outside."""

import contextlib
import http.client
import ssl
import time
from pathlib import Path

from cluster import supervisor as sup


def until(check, seconds=30.0, every=0.1):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = check()
        if found:
            return found
        time.sleep(every)
    raise AssertionError(f"not within {seconds} s: {check}")


def connected(port, ca, timeout=10):
    tls = ssl.create_default_context(cadata=ca)
    found = http.client.HTTPSConnection("127.0.0.1", port, context=tls, timeout=timeout)
    return contextlib.closing(found)


def processes_of(data):
    """The ids of all processes that carry this data folder in their environment."""
    mark = f"{sup.MARK}={data}".encode()
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.add(int(entry.name))
            except OSError:
                continue
    return found
