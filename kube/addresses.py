"""Which network addresses the portal may connect to when it calls a cluster. Pure.

A cluster's address is typed by an administrator and resolved anew for each connection. Without
a list, whatever could be the portal's own machine or the cloud's metadata service is closed:
loopback, link-local, multicast, reserved and unspecified addresses. With a list, only the
networks on it are open.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from socket import inet_aton, inet_ntoa

Network = IPv4Network | IPv6Network


def allowed(address: str, networks: Sequence[Network] = ()) -> bool:
    """Return whether a resolved address (no name) is open; what is no address is not."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    found = (found.ipv4_mapped if isinstance(found, IPv6Address) else None) or found
    if networks:
        return any(found in network for network in networks)
    return not _closed(found)


def written(host: str) -> str | None:
    """Return the address that a host stands for without a name service, or None for a name.

    Resolvers still read the old forms of numbers (``127.1``, ``2130706433``, ``0x7f.1``,
    ``0177.0.0.1``), and everything under ``localhost`` is this machine (RFC 6761).
    """
    host = host.rstrip(".").lower()
    if host.rpartition(".")[2] == "localhost":
        return "127.0.0.1"
    try:
        return str(ip_address(host))
    except ValueError:
        pass
    try:
        return inet_ntoa(inet_aton(host)) if _NUMBERS.fullmatch(host) else None
    except OSError:
        return None


def _closed(address: IPv4Address | IPv6Address) -> bool:
    return (
        address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
        or address.is_unspecified
        or str(address) in _METADATA
    )


_NUMBERS = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+)){0,3}")
# Metadata services of clouds that answer outside the link-local range.
_METADATA = frozenset({"fd00:ec2::254", "100.100.100.200"})
