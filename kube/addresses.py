"""Which network addresses the portal may connect to when it calls a cluster. Pure.

A cluster's address is typed by an administrator and resolved anew for each connection. Without
a list, whatever could be the portal's own machine or the cloud's metadata service is closed:
loopback, link-local, multicast, reserved and unspecified addresses. With a list, only the
networks on it are open.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

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


def _closed(address: IPv4Address | IPv6Address) -> bool:
    return (
        address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
        or address.is_unspecified
        or str(address) in _METADATA
    )


# Metadata services of clouds that answer outside the link-local range.
_METADATA = frozenset({"fd00:ec2::254", "100.100.100.200"})
