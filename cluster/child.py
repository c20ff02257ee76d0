"""Become another program that dies with its parent: python child.py PARENT_PID PROGRAM ARGS...

A file to run by itself, with nothing but the standard library: it stands between the supervisor
and each process of the control plane and must start fast.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def become(parent: int, command: list[str]) -> None:
    """Replace this process by the command, to be killed as soon as the parent is gone."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    # The parent may have died before the call above: then nobody would send the signal.
    if os.getppid() != parent:
        os._exit(1)
    os.execv(command[0], command)  # noqa: S606 no shell is what is wanted here


if __name__ == "__main__":
    become(int(sys.argv[1]), sys.argv[2:])
