"""Read the environment, or refuse to start with a message that names the variable.

Each reader takes the full name of the variable, so that a search for the name finds its only
use. A secret may also be given as `NAME_FILE`, the path of a file that holds it.
"""

import json
import os
import re
from collections.abc import Collection
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})


# Tools that only read the code (collectstatic in an image build, the type checker) ask for
# settings without any server or key behind them.
BUILD = os.environ.get("GPUPORTAL_BUILD") == "1"


class ConfigError(ImproperlyConfigured):
    """A variable is missing or wrong; the portal does not start."""


def text(name: str, default: str | None = None, *, choices: Collection[str] = ()) -> str:
    """Return a string; without a default the variable must be set."""
    value = os.environ.get(name, default)
    if value is None or (value == "" and default is None):
        message = f"{name} is not set. See docs/configuration.md."
        raise ConfigError(message)
    if choices and value not in choices:
        message = f"{name} is {value!r}; it must be one of: {', '.join(sorted(choices))}."
        raise ConfigError(message)
    return value


def matching(name: str, pattern: str, default: str) -> str:
    """Return a string of one form."""
    value = text(name, default)
    if not re.fullmatch(pattern, value):
        message = f"{name} is {value!r}, which is not of the form that docs/configuration.md shows."
        raise ConfigError(message)
    return value


def flag(name: str, *, default: bool) -> bool:
    """Return a yes or no."""
    value = os.environ.get(name, "").strip().lower()
    if value == "":
        return default
    if value in TRUE | FALSE:
        return value in TRUE
    message = f"{name} is {value!r}; it must be 1 or 0."
    raise ConfigError(message)


def number(name: str, default: int, *, low: int = 0, high: int = 2**31 - 1) -> int:
    """Return a whole number between `low` and `high`."""
    value = os.environ.get(name, "").strip()
    if value == "":
        return default
    if not (value.isascii() and value.isdecimal() and low <= int(value) <= high):
        message = f"{name} is {value!r}; it must be a whole number from {low} to {high}."
        raise ConfigError(message)
    return int(value)


def items(name: str, default: tuple[str, ...] = ()) -> list[str]:
    """Return a list; in the variable its items are separated by commas."""
    value = os.environ.get(name)
    if value is None:
        return list(default)
    return [item.strip() for item in value.split(",") if item.strip()]


def networks(name: str) -> list[IPv4Network | IPv6Network]:
    """Return networks; in the variable they stand as CIDR, separated by commas."""
    try:
        return [ip_network(item) for item in items(name)]
    except ValueError as error:
        message = f"{name}: {error}. It must look like 10.20.0.0/16,fd12::/64."
        raise ConfigError(message) from None


def mapping(name: str) -> dict[str, str]:
    """Return names and texts; in the variable they are one JSON object."""
    value = os.environ.get(name, "")
    if not value:
        return {}
    try:
        found = json.loads(value)
        usable = isinstance(found, dict) and all(isinstance(one, str) for one in found.values())
    except ValueError:
        usable = False
    if not usable:
        message = f"{name} must be a JSON object of texts."
        raise ConfigError(message)
    return found


def secret(name: str, default: str | None = None, *, shortest: int = 1) -> str:
    """Return a secret from `NAME`, or from the file that `NAME_FILE` points at."""
    value, source = raw_secret(name)
    if value is None:
        value = default
    if value is None:
        message = f"{name} is not set (nor {name}_FILE). See docs/configuration.md."
        raise ConfigError(message)
    # The value itself never goes into a message: messages end up in logs.
    if value and len(value) < shortest:
        message = f"{source} is too short: {len(value)} characters, at least {shortest} needed."
        raise ConfigError(message)
    return value


def raw_secret(name: str) -> tuple[str | None, str]:
    """Return the value, or None, and the variable that it came from."""
    file_name = f"{name}_FILE"
    value, path = os.environ.get(name), os.environ.get(file_name)
    if value and path:
        message = f"{name} and {file_name} are both set; keep one."
        raise ConfigError(message)
    if not path:
        return (value or None), name
    try:
        content = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        message = f"{file_name} points at {path!r}, which cannot be read: {error}."
        raise ConfigError(message) from None
    if not content:
        message = f"{file_name} points at {path!r}, which is empty."
        raise ConfigError(message)
    return content, file_name


def url(name: str, schemes: Collection[str], default: str | None = None) -> str:
    """Return a URL with one of `schemes` and a host; it may hold a password (`NAME_FILE`)."""
    value = secret(name, default)
    split_url(name, value, schemes)
    return value


def split_url(name: str, value: str, schemes: Collection[str]) -> SplitResult:
    """Take a URL apart, or say what is wrong without showing the password."""
    wanted = " or ".join(f"{scheme}://" for scheme in schemes)
    try:
        parts = urlsplit(value)
        usable = parts.scheme in schemes and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        message = f"{name} is not a usable URL; it must look like {wanted}user:password@host/name."
        raise ConfigError(message)
    return parts


def database(name: str, default: str | None = None) -> dict[str, Any]:
    """Return Django's settings of one PostgreSQL connection, from a URL."""
    schemes = ("postgresql", "postgres")
    value = secret(name, default)
    parts = split_url(name, value, schemes)
    if len(parts.path) < len("/x"):
        message = f"{name} names no database; it must end with /name."
        raise ConfigError(message)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path[1:]),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname,
        "PORT": str(parts.port or 5432),
        "OPTIONS": dict(parse_qsl(parts.query)),
    }
