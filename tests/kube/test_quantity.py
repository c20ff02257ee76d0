"""Quantities: what people may write, what Kubernetes would write, what a cluster may hold."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube import quantity
from kube.catalog import CPU, MEMORY
from kube.problems import Refused
from tests.kube.make import answer

GPU = "nvidia.com/gpu"
INT64 = st.integers(min_value=0, max_value=quantity.INT64_MAX)

# Each text with the value that the quantity type of Kubernetes 1.35 gives it.
AS_KUBERNETES_READS = [
    ("16", "16"),
    ("16000", "16000"),
    ("192000", "192000"),
    ("16000000", "16000000"),
    ("0.5", "0.5"),
    ("500m", "0.5"),
    ("1500m", "1.5"),
    ("1.5", "1.5"),
    ("1024Gi", "1099511627776"),
    ("1Ti", "1099511627776"),
    ("1536Mi", "1610612736"),
    ("1536Gi", "1649267441664"),
    ("2Ti", "2199023255552"),
    ("1000m", "1"),
    ("10000m", "10"),
    ("0", "0"),
    ("00", "0"),
    ("010", "10"),
    ("1e3", "1000"),
    ("1E3", "1000"),
    ("1e-3", "0.001"),
    ("1u", "0.000001"),
    ("1n", "0.000000001"),
    ("0.1n", "0.000000001"),
    ("9Ei", "9223372036854775807"),
    ("16Ei", "9223372036854775807"),
    ("10E", "10000000000000000000"),
    ("99999999999999999999", "99999999999999999999"),
    ("99999999999999999999Ki", "9223372036854775807"),
    ("1.5Gi", "1610612736"),
    ("1G", "1000000000"),
    ("1024Mi", "1073741824"),
    ("1000Mi", "1048576000"),
    ("1e40", "10000000000000000000000000000000000000000"),
    ("+8", "8"),
    ("-1", "-1"),
    (".5", "0.5"),
    ("5.", "5"),
    ("8.0", "8"),
    ("1k", "1000"),
    ("1M", "1000000"),
    ("0.3Ki", "307.2"),
    ("12345678m", "12345.678"),
    ("1000000m", "1000"),
    ("-0.5", "-0.5"),
    ("1E", "1000000000000000000"),
    ("1Ei", "1152921504606846976"),
    ("0.5Ki", "512"),
    ("1024", "1024"),
    ("1048576Ki", "1073741824"),
    ("100000000000000", "100000000000000"),
    ("1.0m", "0.001"),
    ("1e+3", "1000"),
    ("1000k", "1000000"),
    ("-0.1n", "-0.000000001"),
    ("-9Ei", "-9223372036854775807"),
    ("1.23456789012", "1.234567891"),
    ("3.5k", "3500"),
    ("0.0000000001", "0.000000001"),
    ("1024Pi", "1152921504606846976"),
    ("2048Pi", "2305843009213693952"),
    ("1025Ki", "1049600"),
]

# Each amount with the text that the same type writes for it.
AS_KUBERNETES_WRITES = [
    (CPU, 0, "0"),
    (CPU, 500, "500m"),
    (CPU, 1_500, "1500m"),
    (CPU, 16_000, "16"),
    (CPU, 10_000_000, "10k"),
    (CPU, 192_000_000, "192k"),
    (CPU, 12_345_678, "12345678m"),
    (CPU, 16_000_000_000, "16M"),
    (MEMORY, 0, "0"),
    (MEMORY, 1 << 10, "1Ki"),
    (MEMORY, 1025 << 10, "1025Ki"),
    (MEMORY, 1000 << 20, "1000Mi"),
    (MEMORY, 1536 << 20, "1536Mi"),
    (MEMORY, 1024 << 30, "1Ti"),
    (MEMORY, 2 << 40, "2Ti"),
    (MEMORY, 1024 << 50, "1Ei"),
    (MEMORY, 1_500, "1500"),
    (GPU, 0, "0"),
    (GPU, 8, "8"),
    (GPU, 1_024, "1024"),
    (GPU, 16_000, "16k"),
    (GPU, 9_000_000, "9M"),
]


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("8", 8), ("32", 32), ("9999999", 9999999)])
def test_reads_whole_devices(text, value):
    assert quantity.parse_devices(text) == value


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("1e3", "GP-2111"),
        ("1E3", "GP-2111"),
        ("1.5", "GP-2112"),
        ("0.5", "GP-2112"),
        (".5", "GP-2112"),
        ("1,5", "GP-2112"),
        ("500m", "GP-2112"),
        ("-1", "GP-2113"),
        ("-0", "GP-2113"),
        ("+8", "GP-2113"),
        ("0x10", "GP-2111"),
        ("0b11", "GP-2111"),
        ("0o17", "GP-2111"),
        ("010", "GP-2115"),
        ("00", "GP-2115"),
        ("\uff11\uff12", "GP-2111"),
        ("\u0663", "GP-2111"),
        ("\u2460", "GP-2111"),
        ("\u2167", "GP-2111"),
        ("1_000", "GP-2111"),
        ("1,000", "GP-2111"),
        ("1 000", "GP-2111"),
        ("1.000", "GP-2111"),
        (" 8 ", "GP-2111"),
        ("8\n", "GP-2111"),
        ("8\u00a0", "GP-2111"),
        ("8\u200b", "GP-2111"),
        ("NaN", "GP-2111"),
        ("Infinity", "GP-2111"),
        ("-inf", "GP-2113"),
        ("null", "GP-2111"),
        ("true", "GP-2111"),
        ("None", "GP-2111"),
        ("10000000", "GP-2114"),
        ("2147483648", "GP-2114"),
        ("9223372036854775808", "GP-2114"),
        ("9" * 400, "GP-2114"),
        ("9" * 5000, "GP-2114"),
        ("8 GPU", "GP-2111"),
        ("8x A100", "GP-2111"),
        ("eight", "GP-2111"),
        ("\u516b", "GP-2111"),
        ("", "GP-2110"),
        ("   ", "GP-2110"),
    ],
)
def test_refuses_what_is_no_whole_number_of_devices(text, code):
    with pytest.raises(Refused) as caught:
        quantity.parse_devices(text)
    assert caught.value.code == code


def test_tells_how_to_ask_for_a_part_of_a_device():
    with pytest.raises(Refused, match="whole GPUs only; for parts use a MIG or shared flavor"):
        quantity.parse_devices("1.5")


def test_cuts_long_input_in_the_message():
    with pytest.raises(Refused) as caught:
        quantity.parse_devices("x" * 5000)
    assert len(caught.value.message) < 120


@pytest.mark.parametrize(
    ("text", "milli"),
    [
        ("0", 0),
        ("1", 1000),
        ("500m", 500),
        ("0.5", 500),
        ("0.001", 1),
        ("1.25", 1250),
        ("16", 16000),
    ],
)
def test_reads_cpus_as_thousandths(text, milli):
    assert quantity.parse_cpu(text) == milli


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("0.0005", "GP-2117"),
        ("1u", "GP-2117"),
        ("1n", "GP-2117"),
        ("1e-3", "GP-2117"),
        (".5", "GP-2116"),
        ("5.", "GP-2116"),
        ("1,5", "GP-2116"),
        ("1k", "GP-2116"),
        ("1e3", "GP-2116"),
        ("1 ", "GP-2116"),
        ("1\n", "GP-2116"),
        ("\u0661", "GP-2116"),
        ("-1", "GP-2113"),
        ("+1", "GP-2113"),
        ("", "GP-2110"),
        ("9" * 30, "GP-2114"),
        ("9" * 5000, "GP-2114"),
        ("9223372036854775808m", "GP-2114"),
        ("9223372036854776", "GP-2114"),
    ],
)
def test_refuses_what_is_no_number_of_cpus(text, code):
    with pytest.raises(Refused) as caught:
        quantity.parse_cpu(text)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("1Ki", 1024), ("4Gi", 4 << 30), ("4Ti", 4 << 40), ("8191Pi", 8191 << 50)],
)
def test_reads_memory_as_bytes(text, value):
    assert quantity.parse_memory(text) == value


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("4ti", "GP-2118"),
        ("4TI", "GP-2118"),
        ("4TB", "GP-2118"),
        ("4T i", "GP-2118"),
        ("4Tib", "GP-2118"),
        ("1e3Ki", "GP-2118"),
        ("128", "GP-2118"),
        ("4Gi\n", "GP-2118"),
        ("\uff14Gi", "GP-2118"),
        ("1.5Gi", "GP-2120"),
        (".5Gi", "GP-2120"),
        ("100m", "GP-2120"),
        ("1n", "GP-2120"),
        ("4T", "GP-2119"),
        ("4G", "GP-2119"),
        ("4K", "GP-2119"),
        ("4k", "GP-2119"),
        ("1Zi", "GP-2114"),
        ("1Ei", "GP-2114"),
        ("9Ei", "GP-2114"),
        ("16Ei", "GP-2114"),
        ("8192Pi", "GP-2114"),
        ("9" * 5000 + "Gi", "GP-2114"),
        ("-4Gi", "GP-2113"),
        ("+4Gi", "GP-2113"),
        ("04Gi", "GP-2115"),
        ("0Gi", "GP-2115"),
        ("00", "GP-2115"),
        ("", "GP-2110"),
    ],
)
def test_refuses_what_is_no_amount_of_memory(text, code):
    with pytest.raises(Refused) as caught:
        quantity.parse_memory(text)
    assert caught.value.code == code


def test_asks_what_a_decimal_unit_means_instead_of_guessing():
    with pytest.raises(Refused, match="write Gi for 1024-based units"):
        quantity.parse_memory("4G")


@pytest.mark.parametrize(
    ("resource", "text", "value"), [(CPU, "2", 2000), (MEMORY, "2Ki", 2048), (GPU, "2", 2)]
)
def test_reads_by_resource(resource, text, value):
    assert quantity.parse(resource, text) == value


@pytest.mark.parametrize(("resource", "amount", "text"), AS_KUBERNETES_WRITES)
def test_writes_what_kubernetes_would_write(resource, amount, text):
    assert quantity.format(resource, amount) == text


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        (CPU, 16_000_000, "16000"),
        (CPU, 1_500, "1500m"),
        (MEMORY, 1024 << 50, "1024Pi"),
        (MEMORY, 0, "0"),
        (GPU, 16_000, "16000"),
    ],
)
def test_writes_plain_text_that_can_be_read_back(resource, amount, text):
    assert quantity.plain(resource, amount) == text


@given(INT64)
def test_cpus_survive_writing_and_reading(milli):
    assert quantity.parse_cpu(quantity.plain(CPU, milli)) == milli


@given(st.integers(min_value=0, max_value=quantity.INT64_MAX >> 10))
def test_memory_survives_writing_and_reading(kibibytes):
    assert quantity.parse_memory(quantity.plain(MEMORY, kibibytes << 10)) == kibibytes << 10


@given(st.integers(min_value=0, max_value=quantity.MAX_DEVICES))
def test_devices_survive_writing_and_reading(count):
    assert quantity.parse_devices(quantity.plain(GPU, count)) == count


@given(INT64)
def test_written_cpus_mean_the_same_to_kubernetes(milli):
    assert quantity.canonical(quantity.format(CPU, milli)) == Fraction(milli, 1000)


@given(INT64, st.sampled_from([MEMORY, GPU]))
def test_written_amounts_mean_the_same_to_kubernetes(amount, resource):
    assert quantity.canonical(quantity.format(resource, amount)) == amount


@given(INT64, st.sampled_from([CPU, MEMORY, GPU]))
def test_written_text_is_a_fixed_point(amount, resource):
    text = quantity.format(resource, amount)
    meaning = quantity.canonical(text) * {CPU: 1000}.get(resource, 1)
    assert quantity.format(resource, int(meaning)) == text


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text):
    readers = (quantity.parse_devices, quantity.parse_cpu, quantity.parse_memory)
    assert all(isinstance(answer(reader, text), int | Refused) for reader in readers)


@pytest.mark.parametrize(("text", "value"), AS_KUBERNETES_READS)
def test_reads_live_values_as_kubernetes_does(text, value):
    assert quantity.canonical(text) == Fraction(value)


@pytest.mark.parametrize(("text", "value"), AS_KUBERNETES_READS)
def test_shows_live_values_in_plain_digits(text, value):
    assert quantity.exact(quantity.canonical(text)) == value.replace("+", "")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("10", "10000m"),
        ("1024Gi", "1Ti"),
        ("1Gi", "1024Mi"),
        ("16k", "16000"),
        (8, "8"),
        (8.5, "8500m"),
        ("1e3", "1k"),
        (" 8", "8"),
    ],
)
def test_different_spellings_are_equal(first, second):
    assert quantity.canonical(first) == quantity.canonical(second)


def test_decimal_and_binary_units_differ():
    assert quantity.canonical("1G") != quantity.canonical("1Gi")


@pytest.mark.parametrize(
    "value",
    [
        "1K",
        "1e3Ki",
        "12e",
        "",
        "abc",
        "1e99999999999",
        "1 Gi",
        "--1",
        "1Zi",
        "9" * 65,
        True,
        float("nan"),
        "\uff11",
    ],
)
def test_refuses_live_values_that_are_no_quantity(value):
    with pytest.raises(Refused) as caught:
        quantity.canonical(value)
    assert caught.value.code == "GP-2122"


@pytest.mark.parametrize(
    ("resource", "amount", "code"),
    [
        (GPU, -1, "GP-2113"),
        (GPU, 10_000_000, "GP-2114"),
        (CPU, quantity.INT64_MAX + 1, "GP-2114"),
        (MEMORY, 1000, "GP-2121"),
    ],
)
def test_refuses_numbers_that_no_text_could_have_given(resource, amount, code):
    with pytest.raises(Refused) as caught:
        quantity.checked(resource, amount)
    assert caught.value.code == code


@pytest.mark.parametrize(("resource", "amount"), [(GPU, 8), (CPU, 500), (MEMORY, 1024)])
def test_accepts_numbers_in_range(resource, amount):
    assert quantity.checked(resource, amount) == amount
