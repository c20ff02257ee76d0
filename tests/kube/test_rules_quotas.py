"""Rules of quota lines, and of promises against machines."""

from dataclasses import replace

import pytest

from kube.catalog import (
    CohortSpec,
    DeviceKind,
    PrioritySpec,
    QuotaSpec,
)
from kube.problems import errors
from kube.rules import check
from tests.kube.make import (
    GI,
    GPU,
    MIG,
    catalog,
    flavor,
    found,
    lines,
    with_flavor,
    with_queue,
)

QUEUE = "tenants[nlp].queues[nlp-train]"
LINE = f"{QUEUE}.quotas[a100/nvidia.com/gpu]"


def line(**values):
    return replace(lines(8)[2], **values)


def text_of(problems, code):
    return next(each.message for each in problems if each.code == code)


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"nominal": -1}, "GP-2113"),
        ({"borrowing_limit": -1}, "GP-2113"),
        ({"borrowing_limit": 10_000_000}, "GP-2114"),
    ],
)
def test_numbers_are_in_range(values, code):
    made = with_queue(quotas=(*lines(8)[:2], line(**values)))
    assert (code, f"{LINE}.{next(iter(values))}") in found(made)


def test_memory_comes_in_whole_kibibytes():
    cpu, memory, device = lines(8)
    made = with_queue(quotas=(cpu, replace(memory, nominal=1000), device))
    assert ("GP-2121", f"{QUEUE}.quotas[a100/memory].nominal") in found(made)


@pytest.mark.parametrize(
    ("values", "code", "part"),
    [
        ({"cpu_per_device": -1}, "GP-2113", "cpu_per_device"),
        ({"memory_per_device": 1000}, "GP-2121", "memory_per_device"),
        ({"capacity": 10_000_000}, "GP-2114", "capacity"),
    ],
)
def test_sizes_of_flavors_are_in_range(values, code, part):
    made = replace(with_flavor(**values), tenants=())
    assert found(made) == [(code, f"flavors[a100].{part}")]


def test_limits_need_a_department():
    made = with_queue(cohort="", quotas=lines(8, borrowing_limit=4, lending_limit=4))
    resources = ("cpu", "memory", GPU)
    assert found(made) == [
        (code, f"{QUEUE}.quotas[a100/{each}].{part}")
        for each in resources
        for code, part in (("GP-2164", "borrowing_limit"), ("GP-2165", "lending_limit"))
    ]
    assert "no department to borrow from" in check(made)[0].message


def test_limits_of_a_department_need_a_parent():
    made = catalog(cohorts=(CohortSpec(name="research", quotas=lines(8, borrowing_limit=0)),))
    assert [code for code, _field in found(made)] == ["GP-2164"] * 3
    assert "no parent to borrow from" in check(made)[0].message


@pytest.mark.parametrize("above", ["queue", "cohort"])
def test_nobody_lends_more_than_there_is(above):
    quotas = lines(8, lending_limit=9)
    parts = {
        "queue": with_queue(quotas=quotas),
        "cohort": catalog(
            cohorts=(
                CohortSpec(name="research"),
                CohortSpec(name="team", parent="research", quotas=quotas),
            )
        ),
    }
    made = parts[above]
    assert [code for code, _field in found(made)] == ["GP-2166"] * 3
    assert "the lending limit 9 is above the nominal quota 8" in check(made)[2].message


def test_lending_everything_or_nothing_is_fine():
    assert found(with_queue(quotas=lines(8, lending_limit=8))) == []
    assert found(with_queue(quotas=lines(8, lending_limit=0, borrowing_limit=0))) == []


def test_a_queue_needs_quota():
    assert found(with_queue(quotas=())) == [("GP-2167", f"{QUEUE}.quotas")]


def test_a_department_needs_none():
    assert found(catalog(cohorts=(CohortSpec(name="research", quotas=()),))) == []


def test_a_line_stands_once():
    made = with_queue(quotas=(*lines(8), line()))
    assert found(made) == [("GP-2160", LINE)]


@pytest.mark.parametrize(
    ("kept", "missing"), [((0, 2), "memory"), ((1, 2), "cpu"), ((2,), "cpu and memory")]
)
def test_devices_need_cpu_and_memory_beside_them(kept, missing):
    made = with_queue(quotas=tuple(lines(8)[index] for index in kept))
    assert found(made) == [("GP-2162", LINE)]
    assert f"no line for {missing}" in check(made)[0].message


def test_cpu_and_memory_alone_are_fine():
    assert found(with_queue(quotas=lines(8)[:2])) == []


def test_flavors_that_share_a_resource_list_the_same():
    mig = flavor("mig", resource=MIG, device_kind=DeviceKind.MIG, mig_profile="1g.10gb")
    quotas = (*lines(8), *lines(7, "mig", MIG))
    made = replace(with_queue(quotas=quotas), flavors=(flavor(), mig))
    assert found(made) == [("GP-2161", f"{QUEUE}.quotas")] * 2
    first = check(made)[0].message
    assert f"a100 lacks {MIG}" in first
    assert "give the flavors queues of their own" in first


def test_zero_lines_complete_a_group_of_two_kinds_of_devices():
    mig = flavor("mig", resource=MIG, device_kind=DeviceKind.MIG, mig_profile="1g.10gb")
    fill = (
        QuotaSpec(flavor="a100", resource=MIG, nominal=0, borrowing_limit=0),
        QuotaSpec(flavor="mig", resource=GPU, nominal=0, borrowing_limit=0),
    )
    quotas = (*lines(8), *lines(7, "mig", MIG), *fill)
    assert found(replace(with_queue(quotas=quotas), flavors=(flavor(), mig))) == []


def test_a_flavor_hands_out_only_its_own_devices():
    quotas = (*lines(8)[:2], QuotaSpec(flavor="a100", resource=MIG, nominal=1))
    made = with_queue(quotas=quotas)
    assert ("GP-2163", f"{QUEUE}.quotas[a100/{MIG}].resource") in found(made)
    assert f"hands out {GPU}, not {MIG}" in text_of(check(made), "GP-2163")


def test_a_flavor_without_devices_hands_out_none():
    made = with_flavor(resource="", cpu_per_device=None, memory_per_device=None)
    assert "hands out no devices" in text_of(check(made), "GP-2163")


def many(count):
    flavors = tuple(flavor(f"f{i}", node_labels=(("f", str(i)),)) for i in range(count))
    quotas = tuple(each for i in range(count) for each in lines(1, f"f{i}"))
    return replace(with_queue(quotas=quotas), flavors=flavors)


def test_warns_above_the_flavors_that_old_releases_can_show():
    assert found(many(16)) == []
    assert found(many(17)) == [("GP-2171", f"{QUEUE}.quotas")]
    assert found(many(17), status_flavors=64) == []
    assert errors(check(many(64))) == ()


def test_refuses_more_flavors_than_kueue_takes():
    assert found(many(65)) == [("GP-2170", f"{QUEUE}.quotas")]
    assert "65 flavors; Kueue takes at most 64" in check(many(65))[0].message


def test_refuses_more_groups_than_kueue_takes():
    flavors = tuple(
        flavor(
            f"f{i}",
            resource="",
            cpu_per_device=None,
            memory_per_device=None,
            node_labels=(("f", str(i)),),
        )
        for i in range(17)
    )
    quotas = tuple(
        QuotaSpec(flavor=f"f{i}", resource=f"example.com/r{i}", nominal=0) for i in range(17)
    )
    made = replace(with_queue(quotas=quotas), flavors=flavors)
    assert "17 resource groups; Kueue takes at most 16" in text_of(check(made), "GP-2170")


def test_refuses_more_pairs_and_resources_than_kueue_takes():
    quotas = tuple(
        QuotaSpec(flavor=f"f{i}", resource=f"example.com/r{j}", nominal=0)
        for i in range(9)
        for j in range(65)
    )
    messages = [each.message for each in check(with_queue(quotas=quotas))]
    assert "65 resources; Kueue takes at most 64" in messages
    assert "585 flavor and resource pairs in one group; Kueue takes at most 512" in messages


def test_promises_fit_the_pool():
    assert found(with_flavor(capacity=8)) == []
    made = with_flavor(capacity=7)
    assert found(made) == [("GP-2176", "flavors[a100]")]
    assert "adds up to 8 devices, the pool has 7: 1 too many" in check(made)[0].message


def test_departments_count_against_the_pool():
    made = catalog(
        flavors=(flavor(capacity=15),), cohorts=(CohortSpec(name="research", quotas=lines(8)),)
    )
    assert found(made) == [("GP-2176", "flavors[a100]")]


def test_a_given_pool_goes_before_the_agreed_capacity():
    assert found(with_flavor(capacity=8), pools={"a100": 4}) == [("GP-2176", "flavors[a100]")]
    assert found(with_flavor(capacity=4), pools={"a100": 8}) == []


def test_an_unknown_pool_is_not_an_empty_one():
    assert found(with_flavor(capacity=4), pools={"a100": None}) == []
    assert found(catalog(), pools={"other": 0}) == []
    assert found(catalog(), pools={"a100": 0}) == [("GP-2176", "flavors[a100]")]


def test_warns_of_cpu_and_memory_out_of_proportion():
    cpu, memory, device = lines(8)
    quotas = (replace(cpu, nominal=1_000), replace(memory, nominal=2048 * GI), device)
    made = with_queue(quotas=quotas)
    assert found(made) == [
        ("GP-2168", f"{QUEUE}.quotas[a100/cpu].nominal"),
        ("GP-2168", f"{QUEUE}.quotas[a100/memory].nominal"),
    ]
    assert check(made)[0].message == (
        "cpu is 1 for 8 devices of a100; in proportion it is 96 (12 per device)"
    )
    assert errors(check(made)) == ()


def test_flavors_without_a_ratio_are_not_judged():
    cpu, memory, device = lines(8)
    made = with_queue(quotas=(replace(cpu, nominal=1_000), memory, device))
    made = replace(made, flavors=(flavor(cpu_per_device=None),))
    assert found(made) == []


def test_warns_of_cpu_that_cannot_be_borrowed_along():
    cpu, memory, device = lines(8, borrowing_limit=4)
    narrow = replace(cpu, borrowing_limit=12_000)
    made = with_queue(quotas=(narrow, memory, device))
    assert found(made) == [("GP-2169", f"{QUEUE}.quotas[a100/cpu].borrowing_limit")]
    assert "it takes 48" in check(made)[0].message


def test_warns_of_limited_cpu_beside_unlimited_devices():
    cpu, memory, device = lines(8, borrowing_limit=4)
    made = with_queue(quotas=(cpu, memory, replace(device, borrowing_limit=None)))
    assert [code for code, _field in found(made)] == ["GP-2169"] * 2
    assert "it takes no limit" in check(made)[0].message


def test_cpu_may_be_borrowed_without_limit():
    device = line(borrowing_limit=4)
    assert found(with_queue(quotas=(*lines(8)[:2], device))) == []


def test_all_problems_are_found_at_once():
    made = catalog(
        flavors=(flavor(model="a\nb", capacity=1),),
        cohorts=(CohortSpec(name="research", parent="research", weight="x"),),
        priorities=(PrioritySpec(name="p", value=2**40),),
    )
    codes = {code for code, _field in found(made)}
    assert codes == {"GP-2142", "GP-2154", "GP-2123", "GP-2175", "GP-2176"}
