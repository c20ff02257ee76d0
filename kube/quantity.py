"""Numbers of resources: strict reading of what people type, canonical writing, lenient reading.

Inside the portal every number is an integer in the smallest unit: milli-CPU, bytes, devices.
Three directions are kept apart:

* :func:`parse` reads what people write and refuses everything that two people could read in
  two ways;
* :func:`format` writes the text that the Kubernetes quantity type itself would write, so that
  applying the same object again changes nothing (``16000`` CPUs become ``16k``, ``1024Gi``
  becomes ``1Ti``); :func:`plain` writes what :func:`parse` reads;
* :func:`canonical` reads any quantity that a cluster may hold, for comparing by value.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Final

from kube.catalog import CPU, MEMORY
from kube.problems import Refused, shown

INT64_MAX: Final = 2**63 - 1
MAX_DEVICES: Final = 9_999_999

DEVICES_PATTERN: Final = r"(0|[1-9][0-9]{0,6})"
CPU_PATTERN: Final = r"[0-9]+(m|\.[0-9]{1,3})?"
MEMORY_PATTERN: Final = r"(0|[1-9][0-9]*(Ki|Mi|Gi|Ti|Pi))"

_MAX_TEXT: Final = 24
_DEVICES = re.compile(DEVICES_PATTERN, re.ASCII)
_CPU = re.compile(r"([0-9]+)(?:(m)|\.([0-9]{1,3}))?", re.ASCII)
_MEMORY = re.compile(r"([1-9][0-9]*)(Ki|Mi|Gi|Ti|Pi)", re.ASCII)

_SHIFTS: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_LARGE: Final = {"E": 18, "P": 15, "T": 12, "G": 9, "M": 6, "k": 3}
_POWERS: Final = {"n": -9, "u": -6, "m": -3, "": 0, **_LARGE}

# Why a text was not understood: the first pattern that matches names the mistake.
_DEVICE_MISTAKES: Final = (
    (re.compile(r"[+-].*", re.ASCII | re.DOTALL), "GP-2113"),
    (re.compile(r"0[0-9]+", re.ASCII), "GP-2115"),
    (re.compile(r"[0-9]{1,3}([_, .'][0-9]{3})+", re.ASCII), "GP-2111"),
    (re.compile(r"[0-9]*[.,][0-9]*|[0-9]+m", re.ASCII), "GP-2112"),
)
_CPU_MISTAKES: Final = (
    (re.compile(r"[+-].*", re.ASCII | re.DOTALL), "GP-2113"),
    (re.compile(r"[0-9]+\.[0-9]{4,}|[0-9.]+[un]|[0-9.]+[eE]-[0-9]+", re.ASCII), "GP-2117"),
)
_MEMORY_MISTAKES: Final = (
    (re.compile(r"[+-].*", re.ASCII | re.DOTALL), "GP-2113"),
    (re.compile(r"[0-9.]+[EZY]i?", re.ASCII), "GP-2114"),
    (re.compile(r"[0-9.]+[kKMGTP]", re.ASCII), "GP-2119"),
    (re.compile(r"[0-9.]+[mun]", re.ASCII), "GP-2120"),
    (re.compile(r"[0-9]*\.[0-9]*(Ki|Mi|Gi|Ti|Pi)", re.ASCII), "GP-2120"),
    (re.compile(r"0[0-9]*(Ki|Mi|Gi|Ti|Pi)?", re.ASCII), "GP-2115"),
)

_ANY = re.compile(
    r"([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)(?:([KMGTPE]i)|[eE]([+-]?[0-9]{1,3})|([numkMGTPE]?))",
    re.ASCII,
)
_MAX_LIVE_TEXT: Final = 64


def parse(resource: str, text: str) -> int:
    """Read a quantity of ``resource`` as people may write it; raise :class:`Refused` if not."""
    if resource == CPU:
        return parse_cpu(text)
    if resource == MEMORY:
        return parse_memory(text)
    return parse_devices(text)


def parse_devices(text: str) -> int:
    """Read a whole number of devices."""
    _present(text)
    if _DEVICES.fullmatch(text):
        return int(text)
    if re.fullmatch(r"[1-9][0-9]*", text, re.ASCII):
        raise Refused(code="GP-2114", limit=MAX_DEVICES)
    raise _mistake(text, _DEVICE_MISTAKES, otherwise="GP-2111")


def parse_cpu(text: str) -> int:
    """Read CPUs (``4``, ``0.5``, ``500m``) as milli-CPU."""
    _present(text)
    match = _CPU.fullmatch(text)
    if match is None:
        raise _mistake(text, _CPU_MISTAKES, otherwise="GP-2116")
    _short(text)
    whole, milli, decimals = match.groups()
    amount = int(whole) if milli else int(whole) * 1000 + int((decimals or "0").ljust(3, "0"))
    return bounded(amount)


def parse_memory(text: str) -> int:
    """Read memory with a binary unit (``128Gi``), or ``0``, as bytes."""
    _present(text)
    if text == "0":
        return 0
    match = _MEMORY.fullmatch(text)
    if match is None:
        raise _mistake(text, _MEMORY_MISTAKES, otherwise="GP-2118")
    _short(text)
    return bounded(int(match[1]) << _SHIFTS[match[2]])


def bounded(amount: int) -> int:
    """Return ``amount`` if it is not negative and fits into 64 bits."""
    if amount < 0:
        raise Refused(code="GP-2113", value=str(amount))
    if amount > INT64_MAX:
        raise Refused(code="GP-2114", limit=INT64_MAX)
    return amount


def checked(resource: str, amount: int) -> int:
    """Return ``amount`` if it is a number that :func:`parse` can give for ``resource``."""
    bounded(amount)
    if resource == MEMORY and amount % 1024:
        raise Refused(code="GP-2121", amount=amount)
    if resource not in (CPU, MEMORY) and amount > MAX_DEVICES:
        raise Refused(code="GP-2114", limit=MAX_DEVICES)
    return amount


def format(resource: str, amount: int) -> str:
    """Write ``amount`` as the Kubernetes quantity type would write it."""
    if resource == CPU:
        return str(amount) + "m" if amount % 1000 else _decimal(amount // 1000)
    if resource == MEMORY and amount % 1024 == 0:
        return _binary(amount, largest="Ei")
    return _decimal(amount)


def plain(resource: str, amount: int) -> str:
    """Write ``amount`` in the form that :func:`parse` reads, without decimal suffixes."""
    if resource == CPU:
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    return _binary(amount, largest="Pi") if resource == MEMORY else str(amount)


def canonical(value: str | float) -> Fraction:
    """Read any quantity of a live object by its meaning in Kubernetes.

    Numbers of JSON count as their decimal text. What is finer than a nano unit is rounded away
    from zero and binary quantities end at the largest 64-bit integer, as the API server does.
    """
    text = str(value).strip()
    match = _ANY.fullmatch(text) if len(text) <= _MAX_LIVE_TEXT else None
    if match is None or isinstance(value, bool):
        raise Refused(code="GP-2122", value=shown(str(value)))
    sign, digits, binary, exponent, suffix = match.groups()
    size = Fraction(digits.rstrip("."))
    if binary:
        size = min(_up_to_nano(size * 2 ** _SHIFTS[binary]), Fraction(INT64_MAX))
    else:
        size *= Fraction(10) ** (int(exponent) if exponent else _POWERS[suffix])
    return -_up_to_nano(size) if sign == "-" else _up_to_nano(size)


def exact(number: Fraction) -> str:
    """Write a number read by :func:`canonical` as plain decimal digits."""
    whole, rest = divmod(abs(number), 1)
    sign = "-" if number < 0 else ""
    decimals = f".{int(rest * 10**9):09d}".rstrip("0") if rest else ""
    return f"{sign}{whole}{decimals}"


def _up_to_nano(number: Fraction) -> Fraction:
    return Fraction(math.ceil(number * 10**9), 10**9)


def _decimal(amount: int) -> str:
    for suffix, power in _LARGE.items():
        if amount and amount % 10**power == 0:
            return f"{amount // 10**power}{suffix}"
    return str(amount)


def _binary(amount: int, *, largest: str) -> str:
    for suffix, shift in reversed(_SHIFTS.items()):
        if amount and amount % (1 << shift) == 0 and shift <= _SHIFTS[largest]:
            return f"{amount >> shift}{suffix}"
    return str(amount)


def _present(text: str) -> None:
    if not text.strip(" "):
        raise Refused(code="GP-2110")


def _short(text: str) -> None:
    if len(text) > _MAX_TEXT:
        raise Refused(code="GP-2114", limit=INT64_MAX)


def _mistake(
    text: str, mistakes: tuple[tuple[re.Pattern[str], str], ...], *, otherwise: str
) -> Refused:
    code = next((code for pattern, code in mistakes if pattern.fullmatch(text)), otherwise)
    if code == "GP-2114":
        return Refused(code=code, limit=INT64_MAX)
    return Refused(code=code, value=shown(text))
