"""Become another program that cannot outlive the process that started it.

Run as a script: ``python guard.py PARENT_PID SIGNAL UID GID -- program args...``. It drops to
the given user, asks the kernel to send SIGNAL when the parent dies (even by kill -9) and then
turns into the program. It imports next to nothing, because it runs before every child.
"""

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1


def drop_to(uid: int, gid: int) -> None:
    """Give up root for good: groups first, the user last."""
    if os.geteuid() != 0 or uid == 0:
        return
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def die_with(parent: int, signum: int) -> None:
    """Ask for `signum` at the parent's death; leave at once when that has already happened."""
    if not sys.platform.startswith("linux"):
        return
    # After the change of user on purpose: the kernel forgets the wish when the user changes.
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signum, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def main(argv: list[str]) -> None:
    """Read the arguments, prepare, and become the program."""
    split = argv.index("--")
    parent, signum, uid, gid = (int(value) for value in argv[:split])
    drop_to(uid, gid)
    die_with(parent, signum)
    command = argv[split + 1 :]
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
