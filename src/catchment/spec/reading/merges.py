"""Merges: from the grammar to the canonical model, in every published spelling."""

from __future__ import annotations

import re

from catchment.spec.findings import Findings
from catchment.spec.grammar import output as grammar
from catchment.spec.model import Clause, Merge
from catchment.spec.source_positions import source_lines, start_of_text
from catchment.spec.sql_tokens import code_of
from catchment.spec.tree import MapNode, Node, ScalarNode, follow

_BEGINS = re.compile(r"\s*(NOT\s+)?MATCHED\b", re.IGNORECASE)
_EXAMPLE = "for example `MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *`"


def read_merge(options: grammar.OutputOptions, node: MapNode, findings: Findings) -> Merge | None:
    """The merge of an output; None if it has none."""
    given = options.iceberg.merge if options.iceberg else None
    if given is None:
        return None
    place = follow(node, ["options", "iceberg", "merge"])
    on = read_clause(given.on_clause, follow(place.node, ["onClause"]).node, "ON")
    when = read_clause(given.when_clause, follow(place.node, ["whenClause"]).node, "WHEN")
    _check_clauses(on, when, findings)
    _check_other_modes(options, node, findings)
    used = qualifiers(f"{on.sql}\n{when.sql}")
    target, source = (_alias(pair, used, on, findings) for pair in (("old", "target"), ("new", "source")))
    return Merge(on, when, place.key_where, target, source)


def _check_clauses(on: Clause, when: Clause, findings: Findings) -> None:
    if not on.sql.strip():
        findings.error("bad-merge-clause", "`onClause` is empty", on.where, "for example `old.id = new.id`")
    code = code_of(when.sql)
    if code is not None and not _BEGINS.match(code):
        message = "`whenClause` begins with MATCHED or NOT MATCHED, with or without WHEN before it"
        findings.error("bad-merge-clause", message, when.where, _EXAMPLE)


def _check_other_modes(options: grammar.OutputOptions, node: MapNode, findings: Findings) -> None:
    """A merge is a save mode of its own; the dialect writes `overwrite` beside it."""
    if options.save_mode == "append":
        where = follow(node, ["options", "saveMode"]).node.where
        hint = "write `saveMode: overwrite` beside `merge`, or remove `merge` to append"
        findings.error("merge-and-append", "an output merges rows or appends them, not both", where, hint)
    properties = (options.iceberg.properties if options.iceberg else None) or {}
    ignored = [["sort"]] if options.sort else []
    ignored += [["iceberg", "properties", "overwrite-mode"]] if "overwrite-mode" in properties else []
    for path in ignored:
        where = follow(node, ["options", *path]).key_where
        findings.warning("ignored-key", f"`{path[-1]}` has no effect on a merge", where)


def _alias(pair: tuple[str, str], used: frozenset[str], on: Clause, findings: Findings) -> str:
    found = [name for name in pair if name in used]
    if len(found) > 1:
        what = "table" if "old" in pair else "view"
        message = f"the clauses call the {what} `{pair[0]}` and `{pair[1]}`"
        findings.error("merge-aliases", message, on.where, f"use `{pair[0]}` everywhere, or `{pair[1]}`")
    return found[0] if found else pair[0]


_QUALIFIER = re.compile(r"(?<![.\w`])`?(\w+)`?\s*\.(?!\d)")
_END = re.compile(r";\s*$")


def read_clause(text: str, node: Node, keyword: str) -> Clause:
    """A clause without its leading keyword and its trailing `;`; every other character keeps its offset."""
    code, sql = code_of(text) or text, text
    if begins := re.match(rf"\s*({keyword})\b", code, re.IGNORECASE):
        sql = f"{sql[: begins.start(1)]}{' ' * len(keyword)}{sql[begins.end(1) :]}"
    if ends := _END.search(code):
        sql = f"{sql[: ends.start()]} {sql[ends.start() + 1 :]}".rstrip()
    if isinstance(node, ScalarNode):
        return Clause(sql, start_of_text(node), source_lines(node))
    return Clause(sql, node.where)


def qualifiers(sql: str) -> frozenset[str]:
    """The names in front of a dot, in lower case; none if the SQL cannot be tokenized."""
    return frozenset(name.lower() for name in _QUALIFIER.findall(code_of(sql) or ""))
