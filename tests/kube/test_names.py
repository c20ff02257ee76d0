"""Names, labels and one-line texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube import names
from kube.problems import Refused
from tests.kube.make import answer, code_of


@pytest.mark.parametrize("text", ["a", "nlp", "team-a", "a1", "x" * 40, "r2d2-c3po"])
def test_accepts_short_names(text):
    assert names.slug(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "Team-A",
        "team_a",
        "team a",
        "team.a",
        "-a",
        "a-",
        "a--b",
        "a..b",
        "1e3",
        "0x10",
        "123",
        "~",
        "22:22",
        "2026-01-01",
        "=",
        "команда",
        "团队",
        "tëam",
        "e\u0301",
        "ﬁ",
        "te\u0430m",
        "..",
        ".",
        'x"}, {"kind":"Secret',
        "{{7*7}}",
        "{% load %}",
        "${jndi:}",
        "$(id)",
        "; rm -rf",
        "' OR 1=1--",
    ],
)
def test_refuses_what_is_no_short_name(text):
    assert code_of(names.slug, text) == "GP-2130"


@pytest.mark.parametrize(
    "text",
    [
        "a\x00b",
        "a\x1b[31m",
        "a\rb",
        "a\nb",
        "abc\n",
        "\ud800",
        "team\u202egpj",
        "a\u200bb",
        "\ufeffa",
        "a\u2028b",
        "x\nkind: ClusterRole",
        "a\u200db",
    ],
)
def test_refuses_invisible_characters_in_every_name(text):
    codes = {code_of(rule, text) for rule in (names.slug, names.label, names.subdomain)}
    assert codes == {"GP-2142"}


@pytest.mark.parametrize(
    "text",
    ["admin", "api", "static", "new", "login", "con", "nul", "null", "true", "no", "on", "off"],
)
def test_refuses_reserved_words(text):
    assert code_of(names.slug, text) == "GP-2135"


@pytest.mark.parametrize(
    ("text", "better"),
    [
        ("Team-A", "team-a"),
        ("team_a", "team-a"),
        ("team a", "team-a"),
        ("-a", "a"),
        ("a--b", "a-b"),
    ],
)
def test_suggests_a_name_that_is_accepted(text, better):
    with pytest.raises(Refused, match=f"try '{better}'"):
        names.slug(text)
    assert names.slug(better) == better


def test_suggests_nothing_for_other_alphabets():
    with pytest.raises(Refused) as caught:
        names.slug("te\u0430m")
    assert "try" not in caught.value.message


def test_refuses_long_short_names_with_the_limit():
    with pytest.raises(Refused, match="41 characters, at most 40"):
        names.slug("x" * 41)


def test_labels_have_at_most_63_characters():
    assert names.label("x" * 63) == "x" * 63
    assert code_of(names.label, "x" * 64) == "GP-2131"


@pytest.mark.parametrize("text", ["a.b", "A", "a_b", "-a", "a-", "a/b"])
def test_labels_have_no_dots_and_no_capitals(text):
    assert code_of(names.label, text) == "GP-2132"


@pytest.mark.parametrize("text", ["a", "a.b", "a100-80gb", "x" * 253, "1.2.3"])
def test_accepts_subdomains(text):
    assert names.subdomain(text) == text


@pytest.mark.parametrize("text", ["a..b", ".a", "a.", "A.b", "a_b"])
def test_refuses_bad_subdomains(text):
    assert code_of(names.subdomain, text) == "GP-2133"


def test_refuses_empty_names():
    assert code_of(names.label, "") == "GP-2141"


def test_limits_subdomains_that_travel_as_label_values():
    assert code_of(names.subdomain, "x" * 64, names.MAX_LABEL) == "GP-2131"


@pytest.mark.parametrize(
    "text",
    ["kube-system", "kube-public", "default", "kueue-system", "gpuportal-system", "openshift-x"],
)
def test_refuses_namespaces_of_the_cluster(text):
    assert code_of(names.namespace, text) == "GP-2134"


def test_accepts_a_namespace_of_a_tenant():
    assert names.namespace("nlp-lab") == "nlp-lab"


def test_checks_the_length_of_composed_names():
    assert names.derived("nlp", "a100") == "nlp-a100"
    with pytest.raises(Refused, match="has 64 characters, at most 63"):
        names.derived("x" * 40, "y" * 23)


@pytest.mark.parametrize(
    "text",
    ["a", "A.b_c-1", "gpuportal.io/flavor", "kubernetes.io/hostname", "x" * 253 + "/" + "y" * 63],
)
def test_accepts_label_keys(text):
    assert names.label_key(text) == text


@pytest.mark.parametrize(
    "text",
    ["", "/", "a/", "/a", "a/b/c", "x" * 254 + "/a", "a/" + "y" * 64, "A.b/c", "a b", "-a", "a\n"],
)
def test_refuses_bad_label_keys(text):
    assert code_of(names.label_key, text) == "GP-2137"


@pytest.mark.parametrize(
    "text", ["kubernetes.io/x", "node.kubernetes.io/x", "gpuportal.io/x", "kueue.x-k8s.io/x"]
)
def test_refuses_label_keys_of_controllers_from_people(text):
    assert code_of(names.own_label_key, text) == "GP-2138"


@pytest.mark.parametrize("text", ["team", "example.com/team", "mykubernetes.io/x"])
def test_accepts_label_keys_of_people(text):
    assert names.own_label_key(text) == text


@pytest.mark.parametrize("text", ["", "a", "NVIDIA-A100", "1g.10gb", "x" * 63])
def test_accepts_label_values(text):
    assert names.label_value(text) == text


@pytest.mark.parametrize("text", ["x" * 64, "a b", "-a", "a-", "a/b", "ä", "a\n"])
def test_refuses_bad_label_values(text):
    assert code_of(names.label_value, text) == "GP-2139"


@pytest.mark.parametrize("text", ["cpu", "memory", "nvidia.com/gpu", "nvidia.com/mig-1g.10gb"])
def test_accepts_resources(text):
    assert names.resource_name(text) == text


@pytest.mark.parametrize("text", ["gpu", "CPU", "pods", "kubernetes.io/x", "", "/gpu"])
def test_refuses_resources_without_a_domain(text):
    assert code_of(names.resource_name, text) == "GP-2140"


def test_refuses_resources_with_bad_characters():
    assert code_of(names.resource_name, "nvidia.com/g pu") == "GP-2137"


@pytest.mark.parametrize(
    "text", ["", "Команда", "团队", "Forschung & Lehre", "=HYPERLINK(1)", "<b>"]
)
def test_accepts_display_text_of_any_language(text):
    assert names.display_text(text) == text


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a\nb", "GP-2142"),
        ("a\u202eb", "GP-2142"),
        ("a\x00", "GP-2142"),
        ("e\u0301", "GP-2144"),
        ("x" * 201, "GP-2143"),
    ],
)
def test_refuses_display_text_that_misleads(text, code):
    assert code_of(names.display_text, text) == code


def test_long_text_may_have_lines_but_not_escapes():
    assert names.long_text("one\n\ttwo") == "one\n\ttwo"
    assert code_of(names.long_text, "a\x1b[31m") == "GP-2142"
    assert code_of(names.long_text, "x" * 2001) == "GP-2143"


def test_names_the_alphabets_of_a_text():
    assert names.scripts("te\u0430m 1") == ("CYRILLIC", "LATIN")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("The te\u0430m", "te\u0430m"),
        ("\u0391lpha", "\u0391lpha"),
        ("Команда Team", ""),
        ("GPU团队", ""),
        ("ひらがなカタカナ漢字", ""),
        ("", ""),
    ],
)
def test_finds_words_that_mix_alphabets_which_look_alike(text, word):
    assert names.mixed_word(text) == word


def test_suggests_nothing_where_nothing_is_left():
    assert names.suggestion("123 !!") == ""


@given(st.text(max_size=300))
def test_suggestions_are_accepted_or_empty(text):
    near = names.suggestion(text, names.MAX_SLUG)
    assert near == "" or names.label(near) == near


@given(st.text(max_size=80))
def test_every_rule_answers_for_any_text(text):
    rules = (names.slug, names.subdomain, names.namespace, names.own_label_key, names.long_text)
    answers = [answer(rule, text) for rule in rules]
    assert all(each == text or isinstance(each, Refused) for each in answers)


@given(st.text(max_size=80))
def test_every_refusal_is_one_printable_line(text):
    assert getattr(answer(names.slug, text), "message", "accepted").isprintable()


@pytest.mark.parametrize(
    "text",
    ["", " ", "\n\t", "\u00a0", "\u200b", "\u2060\u200d", "\u3000", "\ufe0f", "\u3164", "\u2800",
     "\u00ad \u180e", "\u0301"],
)  # fmt: skip
def test_text_that_nobody_can_see_says_nothing(text):
    assert names.says_nothing(text)


@pytest.mark.parametrize("text", ["x", "\u00a0x", "\u597d", "5", "-", "\u2713", "e\u0301"])
def test_one_character_that_is_seen_says_something(text):
    assert not names.says_nothing(text)
