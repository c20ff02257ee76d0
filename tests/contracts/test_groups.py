"""Tests that share something are run by one process, one after the other."""

import os

import pytest

pytestmark = pytest.mark.xdist_group("groups")


def test_the_scheduler_knows_the_group(request):
    """It finds a group in the name of a test; without it every test would be one of its own."""
    alone = "PYTEST_XDIST_WORKER" not in os.environ

    assert alone or request.node.nodeid.endswith("@groups")
