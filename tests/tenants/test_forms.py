"""What a form offers: rows for a template, words in two languages, problems at their fields."""

import pytest
from django.utils import translation

from kube.catalog import QueueSpec, TenantSpec
from kube.problems import Problem
from tenants import sentences
from tenants.forms import QuotaRequestForm
from tests import cast

CATALOG = cast.catalog()
NAMES = ("nominal", "borrowing_limit", "lending_limit")


def form(data=None, catalog=CATALOG):
    return QuotaRequestForm(data, catalog=catalog, tenant="nlp")


def sent(**values):
    typed = {
        "nominal": "20",
        "borrowing_limit": "unlimited",
        "lending_limit": "everything",
        **values,
    }
    return {f"nlp-train/a100/{name}": value for name, value in typed.items()} | {"reason": "r"}


def test_has_a_row_for_each_flavor_of_each_queue():
    (row,) = form().rows

    assert (row.offer.queue.name, row.offer.flavor.name, row.offer.today.nominal) == (
        "nlp-train",
        "a100",
        16,
    )
    assert [field.value() for field in (row.nominal, row.borrowing_limit, row.lending_limit)] == [
        16, "unlimited", "everything",
    ]  # fmt: skip


def test_has_no_limits_without_a_department():
    from dataclasses import replace

    nlp = CATALOG.tenants[0]
    alone = replace(nlp, queues=(replace(nlp.queues[0], cohort=""),))
    catalog = replace(CATALOG, tenants=(alone,))
    filled = form({"nlp-train/a100/nominal": "17", "reason": "r"}, catalog)

    assert filled.rows[0].borrowing_limit is None
    assert filled.is_valid(), filled.errors
    assert {edit.borrowing_limit for edit in filled.edits()} == {None}


def test_has_no_rows_for_a_tenant_without_queues():
    empty = QuotaRequestForm(None, catalog=CATALOG, tenant="nobody")

    assert empty.rows == []


def test_previews_what_it_asks_for():
    filled = form(sent())

    assert filled.is_valid()
    proposal = filled.proposal()
    assert proposal.changes
    assert proposal.errors == ()


def test_scales_limits_for_cpu_and_memory():
    filled = form(sent(borrowing_limit="4", lending_limit="0"))

    assert filled.is_valid()
    assert [(edit.resource, edit.borrowing_limit, edit.lending_limit) for edit in filled.edits()] == [
        ("cpu", 32000, 0), ("memory", 256 * cast.GIB, 0), ("nvidia.com/gpu", 4, 0),
    ]  # fmt: skip


PLACES = {
    "tenants[nlp].queues[nlp-train].quotas[a100/nvidia.com/gpu].lending_limit": "nlp-train/a100/lending_limit",
    "tenants[nlp].queues[nlp-train].quotas[a100/cpu].nominal": "nlp-train/a100/nominal",
    "tenants[nlp].queues[nlp-train].quotas[a100/memory]": "nlp-train/a100/nominal",
    "tenants[cv].queues[cv-train].quotas[a100/cpu].nominal": "__all__",
    "flavors[a100]": "nlp-train/a100/nominal",
    "flavors[h100]": "__all__",
    "reason": "reason",
    "catalog": "__all__",
}


@pytest.mark.parametrize(("field", "place"), PLACES.items())
def test_puts_a_problem_where_it_belongs(field, place):
    filled = form(sent())
    assert filled.is_valid()

    filled.take(
        [Problem(field, "GP-1118", "no"), Problem(field, "GP-1118", "only a hint", "warning")]
    )

    assert dict(filled.errors) == {place: ["No."]}


def test_takes_the_word_of_the_viewers_language():
    with translation.override("zh-hans"):
        filled = form(
            sent(borrowing_limit=str(form().fields["nlp-train/a100/borrowing_limit"].word))
        )
        assert filled.is_valid(), filled.errors
        assert form(sent(borrowing_limit="unlimited")).is_valid()


# --- problems in words ------------------------------------------------------------------------------


def test_says_a_problem_as_a_sentence():
    problem = Problem("f", "GP-2151", "ignored", params=(("kind", "flavor"), ("name", "a\u202eb")))

    assert sentences.sentence(problem) == "There is no flavor named a\\u202eb."


def test_shows_its_name_for_a_value_that_is_missing():
    assert sentences.sentence(Problem("f", "GP-2151", "x")) == "There is no {kind} named {name}."


@pytest.mark.parametrize(
    ("message", "said"), [("no", "No."), ("Really?", "Really?"), ("", ""), ("Done.", "Done.")]
)
def test_says_a_message_of_its_own(message, said):
    assert sentences.sentence(Problem("f", "GP-1118", message)) == said


def test_keeps_a_problem_in_a_row():
    problem = Problem("f", "GP-2176", "m", "warning", (("excess", 3), ("flavor", "a100")))

    assert sentences.read(sentences.stored(problem)) == problem
    assert sentences.read({}).severity == "error"


def test_names_are_those_of_the_catalog():
    assert set(NAMES) <= {name.rpartition("/")[2] for name in form().fields}
    assert isinstance(CATALOG.tenants[0], TenantSpec)
    assert isinstance(CATALOG.tenants[0].queues[0], QueueSpec)
