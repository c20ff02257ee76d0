"""No binary fraction comes near money or quantities: what makes one is nowhere in the package."""

import ast
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from costs.digest import canonical

ROOT = Path(__file__).parents[2] / "costs"
FILES = sorted(ROOT.rglob("*.py"))
NAMES = {"float", "FloatField", "complex", "fsum", "fmean", "mean", "sqrt", "total_seconds"}
NAMES |= {"timestamp", "as_float", "perf_counter", "uniform", "statistics", "random"}
#: The parts of ``math`` that stay with whole numbers.
WHOLE = {"gcd", "lcm"}


def makers(tree: ast.AST) -> Iterator[str]:
    """Yield what makes a binary fraction, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=float() | complex()):
                yield f"{node.lineno}: {node.value}"
            # Whole numbers divided with a slash are not whole; Fraction(a, b) is exact.
            case ast.BinOp(op=ast.Div()) | ast.AugAssign(op=ast.Div()):
                yield f"{node.lineno}: /"
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in NAMES:
                yield f"{node.lineno}: {name}"
            case ast.ImportFrom(module="math", names=names):
                yield from (f"{node.lineno}: {x.name}" for x in names if x.name not in WHOLE)
            case ast.Import(names=names):
                yield from (f"{node.lineno}: math" for x in names if x.name == "math")


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_makes_a_float(file):
    assert list(makers(ast.parse(file.read_text()))) == []


@pytest.mark.parametrize(
    "text",
    ["x = 0.5", "x = a / b", "a /= 2", "float(a)", "t.total_seconds()", "import math",
     "from math import floor", "models.FloatField()", "x: float", "1e3"],
)  # fmt: skip
def test_the_search_finds_what_makes_one(text):
    assert len(list(makers(ast.parse(text)))) == 1


def test_a_float_has_no_place_in_a_hash():
    assert canonical([Decimal("1.50"), Fraction(1, 3), 7]) == '["1.5","1/3",7]'
    with pytest.raises(TypeError, match="float has no exact text"):
        canonical({"amount": 0.5})
