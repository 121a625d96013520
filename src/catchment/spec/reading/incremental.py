"""Incremental windows: from the grammar to the canonical model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from catchment.errors import Position
from catchment.spec.findings import Findings
from catchment.spec.grammar import job as grammar
from catchment.spec.model import Commits, Incremental, Key
from catchment.spec.reading.placeholders import TOKEN, read_template
from catchment.spec.source_positions import position_at
from catchment.spec.sql_template import Placeholder, Template
from catchment.spec.tree import MapNode, Node, ScalarNode, follow, items
from catchment.spec.validation import did_you_mean
from catchment.sql_parser import nested, parse
from catchment.timestamps import as_written

CLOCKS = ("run_time", "current_timestamp", "current_date", "localtimestamp", "now", "curdate")


def read_incremental(given: grammar.Incremental | None, node: MapNode, findings: Findings) -> Incremental | None:
    """The window over columns that an input reads; None if it has none."""
    window = node.get("incremental")
    if given is None or given.by == "snapshot" or not isinstance(window, MapNode):
        return None
    if given.since is not None:
        _misplaced(window, "since", "`by: snapshot`", findings)
    if given.context is None or given.sql is None:
        missing = "context" if given.context is None else "sql"
        hint = f"add `{missing}:`, or read by the table's history with `by: snapshot`"
        findings.error("missing-field", f"`{missing}` is missing", window.where, hint)
        return None
    keys = tuple(_keys(given, given.context, window, findings))
    template = read_template(given.sql, follow(window, ["sql"]).node, findings)
    _check_uses(given, keys, template, window, findings)
    state = {move.key: move.value for move in given.state}
    newer = without_end(template, frozenset(state)) if state else None
    return Incremental(given.context, template, keys, state, window.where, newer)


def read_commits(given: grammar.Incremental | None, node: MapNode, findings: Findings) -> Commits | None:
    """The incremental read of a table's history that an input declares; None if it declares none."""
    window = node.get("incremental")
    if given is None or given.by != "snapshot" or not isinstance(window, MapNode):
        return None
    for name in ("context", "sql", "keys", "state"):
        if name in window.entries:
            _misplaced(window, name, "windows over columns (`by: keys`)", findings)
    if given.since is not None and not _is_time(given.since):
        where = follow(window, ["since"]).node.where
        hint = "write it as 2026-01-31 or 2026-01-31T10:00:00Z"
        findings.error("bad-value", f"`{given.since}` is no timestamp", where, hint)
    return Commits(window.where, given.since)


def _is_time(text: str) -> bool:
    try:
        as_written(text)
    except ValueError:
        return False
    return True


def _misplaced(window: MapNode, name: str, of: str, findings: Findings) -> None:
    findings.error("misplaced-key", f"`{name}` belongs to {of}", window.key_where(name), f"remove `{name}`")


def _keys(given: grammar.Incremental, context: str, window: MapNode, findings: Findings) -> Iterator[Key]:
    names: list[str] = []
    live: set[str] = set()
    for index, (key, at) in enumerate(zip(given.keys, items(window.get("keys")), strict=True)):
        if key.name in names:
            findings.error("duplicate-incremental-key", f"there are two keys `{key.name}`", at.where, "rename one")
        names.append(key.name)
        sql = read_template(key.sql, follow(window, ["keys", index, "sql"]).node, findings)
        is_live = _is_live(sql, context, live)
        live |= {key.name} if is_live else set()
        yield Key(key.name, sql, at.where, is_live)


def _is_live(sql: Template, context: str, live: set[str]) -> bool:
    """Whether a key's query depends on the dataset or the clock, directly or through an earlier key."""
    said = " ".join(piece for piece in sql.pieces if isinstance(piece, str))
    names = "|".join(map(re.escape, (context, *CLOCKS)))
    looks = re.search(rf"(?<!\w)({names})(?!\w)", said, re.IGNORECASE) is not None
    return looks or any(isinstance(piece, Placeholder) and piece.key in live for piece in sql.pieces)


def _check_uses(
    given: grammar.Incremental, keys: Sequence[Key], template: Template, window: MapNode, findings: Findings
) -> None:
    """Report keys that are used but not defined; a key's own query may use only the keys above it."""
    known: list[str] = []
    for index, key in enumerate(keys):
        _check_tokens(key.sql, known, follow(window, ["keys", index, "sql"]).node, findings)
        known.append(key.name)
    _check_tokens(template, known, follow(window, ["sql"]).node, findings)
    for index, move in enumerate(given.state):
        for field, name in (("key", move.key), ("value", move.value)):
            if name not in known:
                _unknown_key(name, known, follow(window, ["state", index, field]).node.where, findings)


def _check_tokens(template: Template, known: list[str], node: Node, findings: Findings) -> None:
    for piece in template.pieces:
        if isinstance(piece, Placeholder) and piece.key not in known:
            _unknown_key(piece.key, known, _place(piece.key, node), findings)


def _place(key: str, node: Node) -> Position:
    if not isinstance(node, ScalarNode):
        return node.where
    found = (token.start() for token in TOKEN.finditer(node.text) if token[1] == key)
    return position_at(node, next(found, 0))


def _unknown_key(name: str, known: list[str], where: Position, findings: Findings) -> None:
    hint = did_you_mean(name, known) or "keys are evaluated in order; add it to `keys` above its first use"
    findings.error("unknown-incremental-key", f"no key `{name}` is known here", where, hint)


_MARK = "catchment:key:"


def without_end(window: Template, starts: frozenset[str]) -> Template | None:
    """The window's query without conditions on keys other than those it starts from; None if it has no such form.

    A query that cannot be parsed here is not an error: Spark parses it itself, and nothing is known about newer rows.
    """
    from sqlglot import exp  # slow to import, and few workflows have windows

    query = parse(_marked(window))
    if not isinstance(query, exp.Select) or query.args.get("where") is None or query.args.get("limit"):
        return None
    where = query.args["where"]
    conditions = list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
    left = [begun for begun in (_begun(each, starts) for each in conditions) if begun is not None]
    if len(left) == len(conditions) and all(a is b for a, b in zip(left, conditions, strict=True)):
        return None  # nothing ends the window
    if not any(_keys_in(each) for each in left):
        return None  # nothing begins it
    where.set("this", exp.and_(*left))
    return _template(nested(lambda: query.sql(dialect="spark")), window)


def _begun(condition: Any, starts: frozenset[str]) -> Any:
    """The condition if it does not end the window, the lower bound if it is a BETWEEN, None otherwise."""
    from sqlglot import exp

    if _keys_in(condition) <= starts:
        return condition
    if isinstance(condition, exp.Between) and _keys_in(condition.args["low"]) <= starts:
        return exp.GTE(this=condition.this, expression=condition.args["low"])
    return None


def _keys_in(condition: Any) -> set[str]:
    from sqlglot import exp

    texts = (literal.this for literal in condition.find_all(exp.Literal) if literal.is_string)
    return {part.split("|")[0] for text in texts for part in text.split(_MARK)[1:]}


def _marked(window: Template) -> str:
    return "".join(each if isinstance(each, str) else _mark(each) for each in window.pieces)


def _mark(place: Placeholder) -> str:
    mark = f"{_MARK}{place.key}|"
    return mark if place.quoted else f"'{mark}'"


def _template(sql: str, window: Template) -> Template:
    head, *rest = sql.split(_MARK)
    pieces: list[str | Placeholder] = [head]
    for part in rest:
        key, _, text = part.partition("|")
        pieces += [Placeholder(key, quoted=True), text]
    return Template(tuple(pieces), window.where)
