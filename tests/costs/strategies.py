"""A random month of a random cluster: queues in a tree of cohorts, quotas that change, work, pods."""

from hypothesis import strategies as st

from costs.facts import Grant, Hold, Nodes, NodeTime, Phase, Pods, PodTime, Pool, Records, UseTime
from costs.lending import Quota
from costs.steps import Dated
from costs.times import HOUR, Span, hour_of, month
from costs.used import Use

MONTH = month(2026, 11)
QUEUES = ("qa", "qb", "qc", "qd", "qe")
TENANTS = ("alpha", "beta", "gamma")
PATHS = ((), ("lab",), ("lab", "nlp"), ("lab", "vision"), ("other",))
POOLS = (Pool("a100", "nvidia.com/gpu"), Pool("h100", "nvidia.com/gpu"))
COHORTS = PATHS[1:]

# Half of all happens in the first week, so that tests of a week have something to see.
WEEK_ENDS = MONTH.starts + 7 * 24 * HOUR
instants = st.integers(MONTH.starts - 2 * HOUR, WEEK_ENDS) | st.integers(WEEK_ENDS, MONTH.ends)
amounts = st.integers(1, 16)
lengths = st.integers(1, 40 * HOUR)


@st.composite
def spans(draw, longest=lengths):
    starts = draw(instants)
    return Span(starts, starts + draw(longest))


@st.composite
def quotas(draw):
    return Quota(draw(st.integers(0, 16)), draw(st.none() | st.integers(0, 16)))


def dated(values, most=4):
    """Return values from random starts, one of them often before the month."""
    starts = st.just(0) | instants
    pairs = st.lists(st.tuples(starts, st.none() | values), max_size=most, unique_by=lambda x: x[0])
    return pairs.map(Dated)


@st.composite
def holds(draw):
    span = draw(spans())
    lead, lag = draw(st.integers(0, 90)), draw(st.integers(0, 90))
    return Hold(
        draw(st.sampled_from((*QUEUES, "unknown"))),
        draw(st.sampled_from(POOLS)),
        draw(st.sampled_from(Phase)),
        span,
        draw(amounts),
        Span(min(span.starts + lead, span.ends), span.ends),
        Span(span.starts, span.ends + lag),
    )


@st.composite
def pods(draw):
    kind, tenant = draw(st.sampled_from(Pods)), draw(st.sampled_from(("", *TENANTS)))
    return PodTime(tenant, draw(st.sampled_from(POOLS)), kind, draw(spans()), draw(amounts))


@st.composite
def nodes(draw):
    kind = draw(st.sampled_from(Nodes))
    return NodeTime("n", draw(st.sampled_from(POOLS)), kind, draw(spans()), draw(amounts))


@st.composite
def uses(draw):
    seen = draw(st.integers(0, 16 * HOUR))
    use = Use(draw(st.integers(0, seen * 1000)), seen, seen + draw(st.integers(0, HOUR)))
    hour = hour_of(draw(instants))
    return UseTime(draw(st.sampled_from(TENANTS)), draw(st.sampled_from(POOLS)), hour, use)


grants = st.builds(Grant, st.sampled_from(PATHS), quotas())


def tables(keys, values):
    return st.dictionaries(st.sampled_from(keys), dated(values), max_size=len(keys))


def pairs(names):
    return [(name, pool) for name in names for pool in POOLS]


months = st.builds(
    Records,
    holds=st.lists(holds(), max_size=25),
    grants=tables(pairs(QUEUES), grants),
    cohorts=tables(pairs(COHORTS), quotas()),
    owners=tables(QUEUES, st.sampled_from(TENANTS)),
    pods=st.lists(pods(), max_size=8),
    nodes=st.lists(nodes(), max_size=8),
    uses=st.lists(uses(), max_size=8),
    gaps=st.lists(spans(), max_size=3),
)
