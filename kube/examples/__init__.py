"""Catalogs to start from, shipped as data: two teams, the story of the demo, and every field."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from kube.catalog import Catalog
from kube.catalog_json import load, loads

EXAMPLES: Final = ("two-teams", "story", "complete")


def example(name: str) -> Catalog:
    """Return one of :data:`EXAMPLES`."""
    return load(loads(files("kube.examples").joinpath(f"{name}.json").read_bytes()))
