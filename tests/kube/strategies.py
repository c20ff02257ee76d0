"""Hypothesis strategies for catalogs, valid in every rule, and for shuffled twins of them."""

import random
from dataclasses import replace

from hypothesis import strategies as st

from kube.catalog import (
    Catalog,
    CohortSpec,
    EntrySpec,
    Fungibility,
    Preemption,
    PrioritySpec,
    PurchaseClass,
    Purpose,
    StopPolicy,
    Strategy,
    Taint,
    Toleration,
    TopologySpec,
)
from tests.kube.make import flavor, lines, queue, tenant

COUNTS = st.integers(min_value=0, max_value=2_000)
LIMITS = st.none() | COUNTS
WORDS = st.sampled_from(["a", "b", "c1", "dd", "e-e", "f-2-x", "zz", "long" * 6])
TEXTS = st.sampled_from(["", "Research", "研究", "Ünit <b>", "a" * 80])
WEIGHTS = st.sampled_from(["0", "1", "1.5", "0.125", "1000"])


def names(least=0, most=3):
    """Make lists of different names that are no reserved words."""
    return st.lists(WORDS.map("n-{}".format), min_size=least, max_size=most, unique=True)


@st.composite
def flavors(draw, topologies):
    """Make flavors that select different nodes."""
    return tuple(
        flavor(
            each,
            model=draw(TEXTS),
            purchase=draw(st.sampled_from(PurchaseClass)),
            topology=draw(st.sampled_from(["", *topologies])),
            taints=(Taint(key="example.com/gpu", value=draw(WORDS)),),
            tolerations=draw(st.sampled_from([(), (Toleration(operator="Exists"),)])),
        )
        for each in draw(names(least=1))
    )


@st.composite
def quota_lines(draw, flavor_names, above):
    """Make complete lines for some of the flavors; limits only below a department."""
    chosen = draw(st.permutations(flavor_names))[: draw(st.integers(1, len(flavor_names)))]
    made = []
    for each in chosen:
        nominal, borrowing, lending = draw(COUNTS), draw(LIMITS), draw(LIMITS)
        limits = {} if borrowing is None else {"borrowing_limit": borrowing}
        limits |= {} if lending is None else {"lending_limit": min(lending, nominal)}
        made += lines(nominal, each, **(limits if above else {}))
    return tuple(made)


@st.composite
def cohorts(draw, flavor_names):
    """Make departments in a tree: each may have one of those before it as parent."""
    made = []
    for each in draw(names()):
        parent = draw(st.sampled_from(["", *(other.name for other in made)]))
        own = draw(st.just(()) | quota_lines(flavor_names, parent))
        spec = CohortSpec(
            name=each, display_name=draw(TEXTS), parent=parent, weight=draw(WEIGHTS), quotas=own
        )
        made.append(spec)
    return tuple(made)


@st.composite
def queues(draw, name, flavor_names, cohort_names):
    """Make one queue of a tenant."""
    above = draw(st.sampled_from(["", *cohort_names]))
    reclaim = draw(st.sampled_from(["Never", "LowerPriority", "Any"]))
    borrow = draw(st.sampled_from(["Never", "LowerPriority"])) if reclaim != "Never" else "Never"
    return queue(
        name,
        purpose=draw(st.sampled_from(Purpose)),
        cohort=above,
        strategy=draw(st.sampled_from(Strategy)),
        stop_policy=draw(st.sampled_from(StopPolicy)),
        preemption=Preemption(reclaim_within_cohort=reclaim, borrow_within_cohort=borrow),
        fungibility=Fungibility(
            when_can_borrow=draw(st.sampled_from(["MayStopSearch", "TryNextFlavor"]))
        ),
        weight=draw(WEIGHTS),
        quotas=draw(quota_lines(flavor_names, above)),
        entries=tuple(EntrySpec(namespace=name, name=each) for each in draw(names(most=2))),
    )


@st.composite
def catalogs(draw):
    """Make a catalog without errors."""
    levels = ("example.com/rack", "kubernetes.io/hostname")
    topologies = tuple(TopologySpec(name=each, levels=levels) for each in draw(names(most=2)))
    some_flavors = draw(flavors([each.name for each in topologies]))
    flavor_names = [each.name for each in some_flavors]
    some_cohorts = draw(cohorts(flavor_names))
    cohort_names = [each.name for each in some_cohorts]
    tenants = tuple(
        tenant(
            *(draw(queues(f"{slug}-{each}", flavor_names, cohort_names)) for each in range(2)),
            slug=slug,
            cost_centre=draw(TEXTS),
        )
        for slug in draw(names(most=2))
    )
    priorities = tuple(
        PrioritySpec(
            name=each,
            value=draw(st.integers(-(2**31), 2**31 - 1)),
            contract=draw(TEXTS),
            preemptions_per_day=draw(st.none() | st.integers(1, 1000)),
            longest_wait_hours=draw(st.none() | st.integers(1, 8760)),
        )
        for each in draw(names(most=2))
    )
    return Catalog(
        topologies=topologies,
        flavors=some_flavors,
        cohorts=some_cohorts,
        tenants=tenants,
        priorities=priorities,
    )


def shuffled(catalog, seed):
    """Return the same catalog with everything moved whose order means nothing."""
    chance = random.Random(seed)  # noqa: S311 - no secret

    def mixed(items):
        return tuple(chance.sample(items, len(items)))

    def mixed_queue(each):
        return replace(each, entries=mixed(each.entries))

    def mixed_tenant(each):
        return replace(each, queues=mixed(tuple(mixed_queue(one) for one in each.queues)))

    return replace(
        catalog,
        topologies=mixed(catalog.topologies),
        flavors=mixed(catalog.flavors),
        cohorts=mixed(catalog.cohorts),
        tenants=mixed(tuple(mixed_tenant(each) for each in catalog.tenants)),
        priorities=mixed(catalog.priorities),
    )
