"""A window without its end: the query that tells a gap in the data from the end of the data."""

from __future__ import annotations

from typing import Any

from catchment.spec.template import Placeholder, Template

_MARK = "catchment:key:"


def without_end(window: Template, starts: frozenset[str]) -> Template | None:
    """The window's query without the conditions on any key but the ones it starts from; None where it has no such form.

    Whatever cannot be read here is no error: Spark reads the query itself, and then nobody knows what would be newer.
    """
    from sqlglot import exp, parse_one  # slow to import, and few workflows have windows
    from sqlglot.errors import SqlglotError

    try:
        query = parse_one(_marked(window), dialect="spark")
    except (SqlglotError, RecursionError):
        return None
    where = query.args.get("where") if isinstance(query, exp.Select) else None
    if where is None or query.args.get("limit"):
        return None
    conditions = list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
    left = [begun for begun in (_begun(each, starts) for each in conditions) if begun is not None]
    if len(left) == len(conditions) and all(a is b for a, b in zip(left, conditions, strict=True)):
        return None  # nothing ends the window
    if not any(_keys(each) for each in left):
        return None  # nothing begins it
    where.set("this", exp.and_(*left))
    return _template(query.sql(dialect="spark"), window)


def _begun(condition: Any, starts: frozenset[str]) -> Any:
    """The condition if it does not end the window; of a BETWEEN its beginning; None otherwise."""
    from sqlglot import exp

    if _keys(condition) <= starts:
        return condition
    if isinstance(condition, exp.Between) and _keys(condition.args["low"]) <= starts:
        return exp.GTE(this=condition.this, expression=condition.args["low"])
    return None


def _keys(condition: Any) -> set[str]:
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
