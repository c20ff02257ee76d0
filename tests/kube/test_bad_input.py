"""The catalogue of bad input at the door of a catalog file: each value is refused at its field.

The numbers are those of the rows in the list of bad input that forms, API and files share.
"""

import copy

import pytest

from kube.catalog_json import dump, load
from kube.examples import example
from kube.problems import InvalidCatalog, errors
from kube.rules import check
from tests.kube.make import answer

QUEUE = "tenants[nlp].queues[nlp-train]"
GPU = f"{QUEUE}.quotas[h100-reserved/nvidia.com/gpu]"
CPU = f"{QUEUE}.quotas[h100-reserved/cpu]"
MEMORY = f"{QUEUE}.quotas[h100-reserved/memory]"
PLACES = {
    "gpu": ("tenants", 0, "queues", 0, "quotas", 2, "nominal"),
    "cpu": ("tenants", 0, "queues", 0, "quotas", 0, "nominal"),
    "memory": ("tenants", 0, "queues", 0, "quotas", 1, "nominal"),
    "weight": ("tenants", 0, "queues", 0, "weight"),
    "slug": ("tenants", 0, "slug"),
    "display": ("tenants", 0, "display_name"),
    "namespace": ("tenants", 0, "queues", 0, "entries", 0, "namespace"),
    "entry": ("tenants", 0, "queues", 0, "entries", 0, "name"),
    "contract": ("priorities", 0, "contract"),
    "label": ("flavors", 0, "node_labels"),
}
FIELDS = {
    "gpu": f"{GPU}.nominal",
    "cpu": f"{CPU}.nominal",
    "memory": f"{MEMORY}.nominal",
    "weight": f"{QUEUE}.weight",
}
PARTS = {
    "slug": "slug",
    "display": "display_name",
    "namespace": "namespace",
    "entry": "name",
    "contract": "contract",
    "label": "node_labels",
}
COMPLETE = dump(example("complete"))


def codes_at(place, value):
    """Put a value into the complete example and return what is said about it."""
    data = copy.deepcopy(COMPLETE)
    inner = data
    *path, last = PLACES[place]
    for step in path:
        inner = inner[step]
    inner[last] = value
    read = answer(load, data)
    problems = read.problems if isinstance(read, InvalidCatalog) else errors(check(read))
    return [(each.field, each.code) for each in problems]


def rows(*table):
    """Spread rows of (number, code, values) into one case for each value."""
    return [
        pytest.param(value, code, id=f"{number}-{ascii(value)[:24]}")
        for number, code, values in table
        for value in values
    ]


@pytest.mark.parametrize(
    ("value", "code"),
    rows(
        (3, "GP-2113", [-1, -8]),
        (5, "GP-2104", ["0x10", "010", "0b11"]),
        (6, "GP-2104", ["\uff11\uff12", "\u0663"]),
        (7, "GP-2104", ["1_000", "1,000", "1 000"]),
        (8, "GP-2104", [" 8 ", "8\n"]),
        (9, "GP-2104", ["NaN", None, True, False, "None"]),
        (10, "GP-2114", [10_000_000, 2_147_483_648, 9_223_372_036_854_775_808, 10**400]),
        (11, "GP-2104", ["8 GPU", "eight"]),
        (12, "GP-2104", ["", " "]),
        (13, "GP-2104", [8.0, 8.5, "8", [8], {"a": 1}, 1e2]),
    ),
)
def test_devices(value, code):
    assert (FIELDS["gpu"], code) in codes_at("gpu", value)


@pytest.mark.parametrize(
    ("value", "code"),
    rows(
        (15, "GP-2118", ["4ti", "4TI", "4TB", "4T i", "4Tib", "1e3Ki"]),
        (15, "GP-2120", ["1.5Gi", "100m", "1n"]),
        (15, "GP-2114", ["1Zi"]),
        (16, "GP-2119", ["4T", "4G", "4K", "4k"]),
        (17, "GP-2114", ["9Ei", "16Ei", "8192Pi"]),
        (9, "GP-2104", [4, 4.5, None, True]),
    ),
)
def test_memory(value, code):
    assert codes_at("memory", value) == [(FIELDS["memory"], code)]


@pytest.mark.parametrize(
    ("value", "code"),
    rows(
        (19, "GP-2117", ["0.0005", "1u", "1e-3"]),
        (19, "GP-2116", [".5", "5.", "1,5"]),
        (9, "GP-2104", [1, 0.5, None, True]),
    ),
)
def test_cpus(value, code):
    assert codes_at("cpu", value) == [(FIELDS["cpu"], code)]


@pytest.mark.parametrize(
    ("value", "code"),
    rows(
        (25, "GP-2123", ["-1", "1e400", "0.333333333333333333333", "", "NaN", "1,5"]),
        (25, "GP-2104", [1, 0.5, None]),
    ),
)
def test_weights(value, code):
    assert codes_at("weight", value) == [(FIELDS["weight"], code)]


@pytest.mark.parametrize(
    ("value", "code"),
    rows(
        (26, "GP-2130", ["Team-A", "team_a", "team a", "team.a", "-a", "a-", "a--b", "a..b"]),
        (27, "GP-2131", ["x" * 41, "x" * 64]),
        (28, "GP-2130", ["команда", "团队", "tëam", "e\u0301", "\ufb01"]),
        (29, "GP-2130", ["te\u0430m"]),
        (30, "GP-2142", ["team\u202egpj", "a\u200bb", "\ufeffa", "a\u2028b", "a\u200db"]),
        (31, "GP-2142", ["a\x00b", "a\x1b[31m", "a\rb", "a\nb", "\ud800"]),
        (32, "GP-2142", ["abc\n"]),
        (33, "GP-2135", ["kube-system", "default", "kueue-system", "openshift-x", "gpuportal-x"]),
        (34, "GP-2135", ["admin", "api", "static", "new", "login", "con", "nul"]),
        (34, "GP-2130", ["..", "."]),
        (35, "GP-2130", ["1e3", "0x10", "~", "22:22", "2026-01-01", "=", "123"]),
        (35, "GP-2135", ["null", "true", "no", "yes", "on", "off"]),
        (37, "GP-2142", ["x\nkind: ClusterRole"]),
        (37, "GP-2130", ['x"}, {"kind":"Secret', "{{7*7}}", "{% load %}", "$(id)", "' OR 1=1--"]),
        (13, "GP-2104", [1, None, ["nlp"], {"a": 1}]),
    ),
)
def test_short_names_of_tenants(value, code):
    found = codes_at("slug", value)
    assert [each for _field, each in found] == [code]
    assert found[0][0].endswith(f".{PARTS['slug']}")


@pytest.mark.parametrize(
    ("value", "code"),
    rows(
        (26, "GP-2132", ["Team-A", "team_a", "team.a", "-a", "a-"]),
        (27, "GP-2131", ["x" * 64]),
        (33, "GP-2134", ["kube-system", "kube-public", "kueue-system", "gpuportal-system"]),
        (33, "GP-2134", ["default", "openshift-x", "kube-x"]),
        (35, "GP-2135", ["null", "true", "no", "yes", "on", "off"]),
        (35, "GP-2146", ["1e3", "0x10", "123", "010", "0b11", "2026-01-01"]),
    ),
)
def test_namespaces(value, code):
    ((field, found),) = codes_at("namespace", value)
    assert found == code
    assert field.endswith(f".{PARTS['namespace']}")


@pytest.mark.parametrize(
    ("value", "code"),
    rows(
        (26, "GP-2132", ["Team-A", "team.a", "a_b"]),
        (27, "GP-2131", ["x" * 64, "x" * 253]),
        (34, "GP-2135", ["new", "on"]),
        (35, "GP-2146", ["1e3", "0x10", "123", "0o17", "2026-1-1"]),
    ),
)
def test_entries(value, code):
    ((field, found),) = codes_at("entry", value)
    assert found == code
    assert field.endswith(f".{PARTS['entry']}")


@pytest.mark.parametrize(
    ("value", "code"),
    rows(
        (28, "GP-2144", ["e\u0301quipe"]),
        (30, "GP-2142", ["team\u202egpj", "a\u200bb", "a\u2028b"]),
        (31, "GP-2142", ["a\x1b[31m", "a\nb", "a\x00b"]),
        (36, "GP-2141", ["", "  "]),
        (39, "GP-2143", ["x" * 201]),
    ),
)
def test_display_names(value, code):
    ((field, found),) = codes_at("display", value)
    assert found == code
    assert field.endswith(f".{PARTS['display']}")


@pytest.mark.parametrize(
    "value",
    [
        "Команда",
        "团队",
        "équipe",
        "<script>alert(1)</script>",
        "=HYPERLINK(1)",
        "{{7*7}}",
        "' OR 1=1--",
    ],
)
def test_display_names_are_kept_as_text(value):
    assert codes_at("display", value) == []


@pytest.mark.parametrize(
    ("value", "code"),
    rows((39, "GP-2143", ["x" * 2001, "line\n" * 401]), (31, "GP-2142", ["a\x1b[31m", "a\rb"])),
)
def test_contracts(value, code):
    ((field, found),) = codes_at("contract", value)
    assert found == code
    assert field.endswith(f".{PARTS['contract']}")


@pytest.mark.parametrize(
    ("value", "code"),
    rows(
        (43, "GP-2139", [{"a": "x" * 64}, {"a": "a b"}, {"a": "-a"}, {"a": "a/b"}]),
        (43, "GP-2137", [{"a/b/c": "x"}, {"x" * 254 + "/a": "x"}, {"": "x"}, {"a b": "x"}]),
        (44, "GP-2183", [{f"k{i}": "v" for i in range(1000)}]),
        (13, "GP-2104", [[], "a=b", {"a": 1}, {"a": None}]),
    ),
)
def test_node_labels(value, code):
    ((field, found),) = codes_at("label", value)
    assert found == code
    assert field.partition("[h100-reserved].")[2].startswith(PARTS["label"])


def test_a_flavor_with_a_topology_and_no_labels():
    assert ("flavors[h100-reserved].node_labels", "GP-2180") in codes_at("label", {})


@pytest.mark.parametrize("place", ["slug", "display", "namespace", "entry", "contract", "weight"])
@pytest.mark.parametrize("value", [True, 7, 1.5, [], {}, None])
def test_other_types_are_never_turned_into_text(place, value):
    assert {code for _field, code in codes_at(place, value)} == {"GP-2104"}


@pytest.mark.parametrize("place", sorted(PLACES))
def test_the_example_itself_is_good_everywhere(place):
    value = COMPLETE
    for step in PLACES[place]:
        value = value[step]
    assert codes_at(place, value) == []
