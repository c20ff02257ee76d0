"""Rows of pods become the use of tenants and pools, none lost and none made up."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from costs.facts import NodeTime, Pods, PodTime, Pool
from costs.metrics import number
from costs.selectors.uses import Known, Lives, Places, PodRow, _devices, by_life, by_tenant, joined
from costs.steps import Dated
from costs.times import HOUR, Span
from costs.used import Use

H = 100 * HOUR
A100, MIG = Pool("a100", "nvidia.com/gpu"), Pool("a100", "nvidia.com/mig-1g.10gb")
OWNERS = {"nlp": Dated([(0, "nlp")]), "cv": Dated([(0, "cv"), (H + 1000, "nlp")])}


def row(pod="a", namespace="nlp", node="n1", profile="", shared=1, use=None):
    return PodRow(H, namespace, pod, node, profile, shared, use or Use(5, 10, 20))


def node(name, pool, starts=H, ends=H + HOUR):
    return NodeTime(name, pool, "ready", Span(starts, ends), 8)


def test_the_pool_is_that_of_the_node_and_the_profile():
    places = Places([node("n1", A100), node("n1", MIG), node("n2", A100)])
    assert places.pool(row()) == A100
    assert places.pool(row(profile="1g.10gb")) == MIG
    assert places.pool(row(node="n2", profile="1g.10gb")) is None
    assert places.pool(row(node="n9")) is None
    assert places.pool(row(node="")) == A100


def test_what_fits_two_pools_is_in_none():
    places = Places([node("n1", A100), node("n2", Pool("h100", "nvidia.com/gpu"))])
    assert places.pool(row(node="")) is None


def test_a_profile_with_a_plus_is_its_resource():
    me = Pool("a100", "nvidia.com/mig-1g.10gb.me")
    assert Places([node("n1", MIG), node("n1", me)]).pool(row(profile="1g.10gb+me")) == me


def test_an_hour_belongs_to_whom_the_namespace_had_for_most_of_it():
    found = by_tenant([(row(namespace="cv"), A100), (row(namespace="x"), A100)], OWNERS)
    assert {each.tenant: each.use for each in found} == {
        "nlp": Use(5, 10, 20), "": Use(5, 10, 20),
    }  # fmt: skip


def test_use_without_a_pod_is_of_the_devices_alone():
    rows = [(row(pod="", namespace="", use=Use(7000, 10, 10)), A100), (row(), A100)]
    (tenant,) = by_tenant(rows, OWNERS)
    (devices,) = _devices(rows)
    assert tenant.use == Use(5, 10, 20)
    assert (devices.use, devices.unattributed) == (Use(7005, 20, 30), 7000)


def test_a_shared_device_is_seen_once_and_used_in_parts():
    rows = [(row(pod=f"p{n}", shared=3, use=Use(100, HOUR, HOUR)), A100) for n in range(3)]
    (devices,) = _devices(rows)
    assert devices.use == Use(300, HOUR, HOUR)


def life(pod, starts, ends, amount=1, tenant="nlp", pool=A100, namespace="nlp"):
    return PodTime(tenant, pool, Pods.RUNNING, Span(H + starts, H + ends), amount, namespace, pod)


def lived(rows, *had, asked=(H,)):
    return by_life([(each, A100) for each in rows], OWNERS, Lives(had, asked))


def only(found):
    (one,) = found
    return one


def test_what_a_dead_pod_leaves_behind_is_cut():
    one = only(lived([row(use=Use(1_000_000, 2000, 2000))], life("a", 0, 1800)))
    assert one.use == Use(900_000, 1800, 1800)


def test_a_pod_that_no_metric_names_is_expected_and_not_seen():
    one = only(lived([], life("a", 0, 1800, amount=4)))
    assert one.use == Use(0, 0, 7200)
    assert not one.use.known
    assert lived([], life("a", 0, 1800), asked=()) == []


def test_a_pod_that_is_not_noted_counts_as_it_was_measured():
    found = lived([row("b", namespace="cv")], life("a", 0, HOUR))
    assert only(found).use == Use(5, 10, HOUR + 20)


def test_a_pod_is_its_tenants_in_its_pool_whatever_node_and_namespace_say():
    """A job may run for a tenant that does not have the namespace; the node may be unknown."""
    h100 = Pool("h100", "nvidia.com/gpu")
    known = Known([node("n1", A100)], OWNERS, [life("a", 0, HOUR, tenant="cv", pool=h100)])
    found = joined([row(node="elsewhere", use=Use(9, HOUR, HOUR))], {H}, known)
    one = only(found.uses)
    assert (one.tenant, one.pool, one.use) == ("cv", h100, Use(9, HOUR, HOUR))
    assert (only(found.devices).pool, found.unplaced) == (h100, [])


def test_what_fits_nowhere_is_named():
    known = Known([node("n1", A100)], OWNERS)
    assert joined([row(node="elsewhere")], {H}, known).unplaced == [row(node="elsewhere")]


@given(st.integers(0, 10**9), st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**7))
def test_what_is_cut_is_never_more_than_there_was(used, seen, fallback, expected):
    use = Use(min(used, seen * 1000), seen, seen, min(fallback, seen)).within(expected)
    assert use.expected == expected
    assert 0 <= use.fallback <= use.seen <= expected
    assert use.used <= max(1, use.seen * 1000)


@given(st.fractions(), st.sampled_from(["", "e0", "E+2", "e-3"]))
def test_a_number_is_what_is_written(value, exponent):
    text = f"{value.numerator}{exponent}"
    power = int(exponent.lower().removeprefix("e") or 0)
    assert number(text) == value.numerator * Fraction(10) ** power


def test_what_is_no_number_is_none_and_what_is_too_large_is_refused():
    assert [number(each) for each in ("NaN", "+Inf", "-Inf")] == [None] * 3
    for text in ("", "1e9999999", "0x10", "1,5", "many"):
        try:
            assert number(text) is None, text
        except ValueError:
            continue
