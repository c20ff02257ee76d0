"""Names, labels and one-line texts: what Kubernetes takes and what people cannot misread.

Each function returns the value it accepts, and raises :class:`kube.problems.Refused` otherwise.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from kube.keys import RESERVED_LABEL_DOMAINS
from kube.problems import Refused, shown

MAX_LABEL: Final = 63
MAX_SUBDOMAIN: Final = 253
MAX_SLUG: Final = 40
MAX_LABEL_KEY: Final = 316
MAX_TEXT: Final = 200
MAX_LONG_TEXT: Final = 2_000

SLUG_PATTERN: Final = r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?"
LABEL_PATTERN: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN_PATTERN: Final = rf"{LABEL_PATTERN}(\.{LABEL_PATTERN})*"
_LABEL_NAME: Final = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"

RESERVED_NAMESPACES: Final = frozenset({"default", "kueue-system", "gpuportal-system", "openshift"})
RESERVED_NAMESPACE_PREFIXES: Final = ("kube-", "openshift-", "kueue-", "gpuportal-")
#: What YAML reads as something else than text; a manifest written by hand would mean that.
YAML_WORDS: Final = frozenset({"null", "true", "false", "yes", "no", "on", "off", "none"})
#: Words that are parts of addresses or device names of some systems, beside those of YAML.
RESERVED_WORDS: Final = YAML_WORDS | frozenset(
    {
        "admin",
        "api",
        "static",
        "media",
        "new",
        "edit",
        "login",
        "logout",
        "accounts",
        "health",
        "metrics",
        "con",
        "nul",
        "prn",
        "aux",
    }
)
_YAML_NUMBER: Final = (
    r"[0-9]+(\.[0-9]*)?(e[0-9]+)?|0x[0-9a-f]+|0o[0-7]+|0b[01]+|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
)
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
#: Letters and symbols that are drawn as nothing: Hangul fillers, the blank Braille pattern.
_BLANK: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800")
_LOOKALIKES: Final = frozenset({"LATIN", "CYRILLIC", "GREEK"})
_CONTROLS_OF_LONG_TEXT: Final = "\n\t"


def slug(text: str) -> str:
    """Accept the short name of a tenant."""
    _characters(text)
    if len(text) > MAX_SLUG:
        raise Refused(code="GP-2131", limit=MAX_SLUG, length=len(text))
    if not _full(SLUG_PATTERN, text) or "--" in text:
        raise _refused_name(text, code="GP-2130", limit=MAX_SLUG)
    if _belongs_to_the_cluster(text):
        raise Refused(code="GP-2135", value=text)
    return not_reserved_word(text)


def label(text: str, limit: int = MAX_LABEL) -> str:
    """Accept an RFC 1123 label: a name without dots, as queues, entries and namespaces need."""
    return _dns(LABEL_PATTERN, "GP-2132", text, limit)


def subdomain(text: str, limit: int = MAX_SUBDOMAIN) -> str:
    """Accept an RFC 1123 subdomain: labels joined by dots."""
    return _dns(SUBDOMAIN_PATTERN, "GP-2133", text, limit)


def namespace(text: str) -> str:
    """Accept the name of a namespace that a tenant may own."""
    label(text)
    if _belongs_to_the_cluster(text):
        raise Refused(code="GP-2134", value=text)
    return not_yaml_value(text)


def not_reserved_word(text: str) -> str:
    """Refuse names that mean something else in an address or in YAML."""
    if text in RESERVED_WORDS:
        raise Refused(code="GP-2135", value=text)
    return not_yaml_value(text)


def not_yaml_value(text: str) -> str:
    """Refuse names that have to stand in quotes in a manifest, or they are no text there."""
    if text in YAML_WORDS:
        raise Refused(code="GP-2135", value=text)
    if _full(_YAML_NUMBER, text):
        raise Refused(code="GP-2146", value=text)
    return text


def derived(*parts: str, limit: int = MAX_LABEL) -> str:
    """Join names with hyphens and check the length of the result, not only of the parts."""
    text = "-".join(parts)
    if len(text) > limit:
        raise Refused(
            code="GP-2136", value=shown(text, MAX_SUBDOMAIN), length=len(text), limit=limit
        )
    return label(text, limit)


def label_key(text: str) -> str:
    """Accept the key of a label: an optional DNS prefix, a slash, a name of at most 63."""
    prefix, slash, name = text.rpartition("/")
    good_name = len(name) <= MAX_LABEL and _full(_LABEL_NAME, name)
    good_prefix = _full(SUBDOMAIN_PATTERN, prefix) and len(prefix) <= MAX_SUBDOMAIN
    if not good_name or (slash and not good_prefix):
        raise Refused(code="GP-2137", value=shown(text))
    return text


def own_label_key(text: str) -> str:
    """Accept a label key that people may choose: no prefix that belongs to a controller."""
    domain = label_key(text).rpartition("/")[0]
    if any(domain == taken or domain.endswith("." + taken) for taken in RESERVED_LABEL_DOMAINS):
        raise Refused(code="GP-2138", value=shown(text))
    return text


def label_value(text: str) -> str:
    """Accept the value of a label; the empty value is one."""
    if not is_label_value(text):
        raise Refused(code="GP-2139", value=shown(text))
    return text


def is_label_value(text: str) -> bool:
    """Tell whether ``text`` can be the value of a label."""
    return text == "" or (len(text) <= MAX_LABEL and _full(_LABEL_NAME, text))


def resource_name(text: str) -> str:
    """Accept ``cpu``, ``memory`` or a device resource with a domain (``nvidia.com/gpu``)."""
    if text in ("cpu", "memory"):
        return text
    return device_resource(text)


def device_resource(text: str) -> str:
    """Accept the name of an extended resource; these always carry a domain."""
    domain, _slash, _name = text.rpartition("/")
    if not domain or domain == "kubernetes.io":
        raise Refused(code="GP-2140", value=shown(text))
    return label_key(text)


def display_text(text: str, limit: int = MAX_TEXT) -> str:
    """Accept one line of text for people: NFC, nothing invisible, not too long."""
    return _text(text, limit, allowed="")


def long_text(text: str, limit: int = MAX_LONG_TEXT) -> str:
    """Accept text of several lines under the same rules."""
    return _text(text, limit, allowed=_CONTROLS_OF_LONG_TEXT)


def says_nothing(text: str) -> bool:
    """Say whether no character of a text can be seen: spaces of any kind, marks alone, fillers."""
    return all(unicodedata.category(each)[0] not in "LNPS" or each in _BLANK for each in text)


def scripts(text: str) -> tuple[str, ...]:
    """Name the alphabets of the letters; more than one in one word is worth a second look."""
    names = {unicodedata.name(each, "?").split()[0] for each in text if each.isalpha()}
    return tuple(sorted(names))


def mixed_word(text: str) -> str:
    """Return the first word that mixes alphabets whose letters look alike, or nothing."""
    words = (word for word in text.split() if len(_LOOKALIKES & set(scripts(word))) > 1)
    return next(words, "")


def suggestion(text: str, limit: int = MAX_LABEL) -> str:
    """Give the nearest name that would be accepted, or nothing if there is none."""
    ascii_text = unicodedata.normalize("NFKD", text[: limit * 4]).encode("ascii", "ignore").decode()
    words = re.sub(r"[^a-z0-9]+", "-", ascii_text.lower()).strip("-")
    return re.sub(r"^[^a-z]+", "", words)[:limit].rstrip("-")


def _belongs_to_the_cluster(text: str) -> bool:
    return text in RESERVED_NAMESPACES or text.startswith(RESERVED_NAMESPACE_PREFIXES)


def _dns(pattern: str, code: str, text: str, limit: int) -> str:
    _characters(text)
    if len(text) > limit:
        raise Refused(code="GP-2131", limit=limit, length=len(text))
    if not _full(pattern, text):
        raise _refused_name(text, code=code, limit=limit)
    return text


def _characters(text: str) -> None:
    if not text:
        raise Refused(code="GP-2141")
    if any(unicodedata.category(each) in _INVISIBLE for each in text):
        raise Refused(code="GP-2142", value=shown(text))


def _refused_name(text: str, *, code: str, limit: int) -> Refused:
    near = suggestion(text, limit)
    if near and text.isascii():
        return Refused(code=code, value=shown(text), hint=f"; try {near!r}")
    return Refused(code=code, value=shown(text), hint="")


def _text(text: str, limit: int, *, allowed: str) -> str:
    if len(text) > limit:
        raise Refused(code="GP-2143", length=len(text), limit=limit)
    if any(unicodedata.category(each) in _INVISIBLE and each not in allowed for each in text):
        raise Refused(code="GP-2142", value=shown(text))
    if unicodedata.normalize("NFC", text) != text:
        raise Refused(code="GP-2144", value=shown(text))
    return text


def _full(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text, re.ASCII) is not None
