"""Named places at which a test may kill, stop or delay this process.

``settings.FAULTPOINTS`` maps a name to an action; without it every call returns at once. It
is set from the environment only where the settings allow it, which production does not.

Actions: ``kill9`` (this process dies), ``killgroup`` (its whole process group dies), ``stop``
(SIGSTOP to itself), ``raise`` (a RuntimeError), ``sleep:SECONDS``, ``block:PATH`` (wait until
somebody opens the fifo for writing). ``once:PATH:ACTION`` acts only while PATH does not exist and
creates it first, so that a restarted worker goes on.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from django.conf import settings


def faultpoint(name: str) -> None:
    """Do what the settings ask for at this place, which is nothing outside of tests."""
    actions: dict[str, str] = getattr(settings, "FAULTPOINTS", None) or {}
    action = actions.get(name)
    if action:
        _act(action)


def _act(action: str) -> None:
    verb, _, argument = action.partition(":")
    if verb == "once":
        marker, _, action = argument.partition(":")
        if _first_time(Path(marker)):
            _act(action)
    elif verb == "sleep":
        time.sleep(float(argument))
    elif verb == "block":
        Path(argument).read_bytes()
    elif verb == "raise":
        message = "raised by a fault point"
        raise RuntimeError(message)
    else:
        _signal(verb)


def _signal(verb: str) -> None:
    if verb == "kill9":
        os.kill(os.getpid(), signal.SIGKILL)
    elif verb == "killgroup":
        os.killpg(os.getpgrp(), signal.SIGKILL)
    elif verb == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)


def _first_time(marker: Path) -> bool:
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
