"""Resource groups: the connected parts of the quota lines."""

from hypothesis import given
from hypothesis import strategies as st

from kube.catalog import QuotaSpec
from kube.groups import groups, resource_order
from tests.kube.make import GPU, MIG, lines

PAIRS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from(["cpu", "memory", GPU, MIG])), unique=True
)


def quotas(pairs):
    return tuple(QuotaSpec(flavor=f, resource=r, nominal=1) for f, r in pairs)


def test_no_lines_make_no_group():
    assert groups(()) == ()


def test_one_flavor_is_one_group_with_cpu_first():
    (group,) = groups(tuple(reversed(lines(8))))
    assert group.resources == ("cpu", "memory", GPU)
    assert group.flavors == ("a100",)
    assert group.missing("a100") == ()
    assert [each.resource for each in group.of("a100")] == ["cpu", "memory", GPU]


def test_flavors_keep_the_order_of_their_first_line():
    made = groups(quotas([("b", "cpu"), ("a", "cpu"), ("b", "memory"), ("a", "memory")]))
    assert [each.flavors for each in made] == [("b", "a")]


def test_flavors_without_a_shared_resource_are_apart():
    made = groups(quotas([("a", GPU), ("b", MIG)]))
    assert [each.flavors for each in made] == [("a",), ("b",)]


def test_a_chain_of_shared_resources_is_one_group():
    (group,) = groups(quotas([("a", "cpu"), ("b", GPU), ("a", MIG), ("b", MIG)]))
    assert group.missing("a") == (GPU,)
    assert group.missing("b") == ("cpu",)


def test_resources_sort_cpu_memory_devices():
    assert sorted([MIG, "memory", GPU, "cpu"], key=resource_order) == ["cpu", "memory", GPU, MIG]


@given(PAIRS)
def test_every_resource_and_flavor_is_in_one_group(pairs):
    made = groups(quotas(pairs))
    resources = [each for group in made for each in group.resources]
    flavors = [each for group in made for each in group.flavors]
    assert sorted(resources) == sorted({resource for _flavor, resource in pairs})
    assert sorted(flavors) == sorted({flavor for flavor, _resource in pairs})


@given(PAIRS, st.randoms(use_true_random=False))
def test_only_the_order_of_flavors_depends_on_the_order_of_lines(pairs, chance):
    mixed = chance.sample(pairs, len(pairs))
    first, second = groups(quotas(pairs)), groups(quotas(mixed))
    assert [each.resources for each in first] == [each.resources for each in second]
    assert [set(each.flavors) for each in first] == [set(each.flavors) for each in second]
