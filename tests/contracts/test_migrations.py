"""Migrations: none is missing, one line of them, and none needs more than the engine brings."""

import re
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState

ROOT = Path(__file__).parents[2]
OWN = ("tenants", "queues", "costs")
FILES = sorted(path for app in OWN for path in (ROOT / app / "migrations").glob("[0-9]*.py"))


def test_models_and_migrations_agree():
    loader = MigrationLoader(None, ignore_no_migrations=True)
    found = MigrationAutodetector(loader.project_state(), ProjectState.from_apps(apps)).changes(
        graph=loader.graph
    )

    assert set(found) & set(OWN) == set()


@pytest.mark.parametrize("app", OWN)
def test_migrations_of_an_app_are_one_line(app):
    graph = MigrationLoader(None, ignore_no_migrations=True).graph

    assert len(graph.leaf_nodes(app)) <= 1


@pytest.mark.parametrize("file", FILES, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_a_migration_says_in_its_name_what_it_does(file):
    assert re.fullmatch(r"\d{4}_[a-z][a-z0-9_]+", file.stem)
    assert "_auto_" not in file.stem


@pytest.mark.parametrize("file", FILES, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_no_migration_needs_an_extension(file):
    text = file.read_text()

    assert "Extension" not in text
    assert "CREATE EXTENSION" not in text.upper()


@pytest.mark.owner
@pytest.mark.fault
@pytest.mark.django_db(transaction=True)
def test_migrations_run_backwards_and_forwards_again():
    call_command("migrate", "queues", "zero", verbosity=0)
    call_command("migrate", "tenants", "0001", verbosity=0)

    call_command("migrate", verbosity=0)

    executor = MigrationExecutor(connection)
    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []
