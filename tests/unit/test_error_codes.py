"""Every code that the source can give is explained in docs/reference/errors.md, and nothing else is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SOURCES = sorted((ROOT / "src" / "catchment").rglob("*.py"))
KEBAB = re.compile(r"[a-z]+(-[a-z]+)*")
TAKES_A_CODE = {"Diagnostic", "Rule", "PydanticCustomError", "refusal", "error", "warning", "problem"}
"""Functions that are given a code as a positional argument."""


def codes_of(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        for text in _candidates(node):
            if isinstance(text, ast.Constant) and isinstance(text.value, str) and KEBAB.fullmatch(text.value):
                yield text.value


def _candidates(node: ast.AST) -> Iterator[ast.expr]:
    if (isinstance(node, ast.keyword) and node.arg in ("code", "otherwise")) or (
        isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == "code" for to in node.targets)
    ):
        yield from _choices(node.value)
    elif isinstance(node, ast.Call) and _name(node.func).strip("_") in TAKES_A_CODE:
        yield from (argument for argument in node.args if _has_hyphen(argument))
    elif isinstance(node, ast.Dict):
        heads = (value.elts[0] for value in node.values if isinstance(value, ast.Tuple) and value.elts)
        yield from (head for head in heads if _has_hyphen(head))


def _choices(value: ast.expr) -> Iterator[ast.expr]:
    yield from (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _has_hyphen(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and "-" in node.value


def documented() -> list[str]:
    text = (ROOT / "docs" / "reference" / "errors.md").read_text()
    return re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE)


def test_every_code_is_documented_and_every_documented_code_exists() -> None:
    used = {code for file in SOURCES for code in codes_of(ast.parse(file.read_text()))}
    written = {code for file in SOURCES for code in re.findall(r'"([a-z]+(?:-[a-z]+)*)"', file.read_text())}
    assert sorted(used - set(documented())) == []
    assert sorted(set(documented()) - written) == []


def test_every_code_is_explained_once() -> None:
    assert len(documented()) == len(set(documented())) > 100


def test_codes_are_found_wherever_the_source_writes_them() -> None:
    source = """
class Lost(Retryable):
    code = "engine-lost"
raise Lost("x", code="very-lost" if far else "nearly-lost")
findings.error("bad-name", "message with-hyphen", where)
TABLE = {"streaming": ("unsupported-streaming", "text")}
"""
    found = set(codes_of(ast.parse(source)))
    assert found == {"engine-lost", "very-lost", "nearly-lost", "bad-name", "unsupported-streaming"}
