"""The switches of a page between pools and between months."""

from __future__ import annotations

from collections.abc import Sequence

from costs.facts import Pool
from costs.selectors.tenant_month import Place, TenantMonth
from costs.views.asked import Asked, query


def months(wanted: Asked, place: Place | None) -> dict[str, str]:
    """Return the addresses of the months beside this one, in the same pool."""
    sides = {"previous": wanted.previous, "following": wanted.following}
    return {key: query(month, place) for key, month in sides.items() if month}


def clusters(place: Place | None) -> list[int | str] | None:
    """Return the cluster of a place for who asks what was made up; ``None`` for all."""
    return [place.cluster] if place else None


def of_tenant(wanted: Asked, found: TenantMonth) -> list[dict[str, object]]:
    """Return the switch between a tenant's pools, by cluster where there are several."""
    several = len(set(found.places.values())) > 1
    flavors = {each.flavor for each in found.places}
    return [
        {
            "label": " · ".join(
                part
                for part, needed in (
                    (cluster, several),
                    (each.flavor, True),
                    (each.resource.rpartition("/")[2], len(flavors) < len(found.places)),
                )
                if needed
            ),
            "url": query(wanted.month, each),
            "current": each == found.place,
        }
        for each, cluster in found.places.items()
    ]


def of_one_cluster(wanted: Asked, slug: str) -> Asked:
    """Leave out a pool of another cluster; it is none of this one."""
    if wanted.place and wanted.place.cluster != slug:
        return wanted._replace(place=None, wrong=(*wanted.wrong, "pool"))
    return wanted


def chosen(slug: str, wanted: Asked, pools: Sequence[Pool]) -> Place | None:
    """Return the pool that is shown: the one that is asked for, or the first."""
    return wanted.place or (Place(slug, *pools[0]) if pools else None)


def of_cluster(
    slug: str, wanted: Asked, pools: Sequence[Pool], here: Place | None
) -> list[dict[str, object]]:
    """Return the switch between the pools of a cluster."""
    flavors = [each.flavor for each in pools]
    return [
        {
            "label": each.flavor if flavors.count(each.flavor) == 1 else " · ".join(each),
            "url": query(wanted.month, Place(slug, *each)),
            "current": Place(slug, *each) == here,
        }
        for each in pools
    ]
