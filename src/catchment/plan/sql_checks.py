"""Finds errors in the SQL of steps before Spark starts: only what is certainly wrong, the rest is left to Spark."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from catchment.errors import Diagnostic, Position
from catchment.formats.registry import held_by
from catchment.plan.model import EnginePlan, JobPlan, StepPlan
from catchment.project.model import Depot
from catchment.spec.model import Job
from catchment.spec.sql_tokens import Token, tokens
from catchment.spec.validation import did_you_mean
from catchment.sql_parser import parse

if TYPE_CHECKING:
    from sqlglot import exp

_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "(")
"""How a query begins. Other statements may hold free text, in which nothing can be checked."""
_FIRST_WORD = re.compile(r"[\s(]*(\w+)")
_MISSPELT = ("SELECT", "VALUES", "WITH")
_PAIRS = {")": "(", "]": "["}
_ESCAPES = "spark.sql.parser.escapedStringLiterals"
_FIX = "correct the SQL at this place"


def check_steps(job: Job, plan: JobPlan, engine: EnginePlan, *, makes_tables: bool) -> Iterator[Diagnostic]:
    """The errors in the SQL of a job's steps; with `makes_tables`, a step may create tables of any name."""
    settings = {**engine.conf, **job.spark_conf}
    broken = []
    for step in plan.steps:
        if found := _syntax_error(step, settings):
            broken.append(step.name)
            yield found
    if not makes_tables and not _has_other_tables(settings, engine.depots):
        yield from _unknown_views(job, plan.steps, broken)


def _syntax_error(step: StepPlan, settings: Mapping[str, str]) -> Diagnostic | None:
    if not step.sql:
        return None  # its file could not be read, which has been reported
    if _is_template(step.sql) or "\\\n" in step.sql or settings.get(_ESCAPES) == "true":
        return None  # the text alone does not tell what is a literal or a comment
    found = tokens(step.sql)
    if found is None:
        return _endless(step)
    if not found:
        return _error(step, step.sql_where, "there is no SQL here", "write a query")
    first = _text(step, found[0]).upper()
    if first in _QUERIES:
        return _unbalanced(step, found) or _second_statement(step, found)
    meant = difflib.get_close_matches(first, _MISSPELT, n=1, cutoff=0.75) if found[0].kind == "code" else []
    return _at(step, found[0], f"no statement begins with `{first}`", f"did you mean `{meant[0]}`?") if meant else None


def _endless(step: StepPlan) -> Diagnostic | None:
    begins = _FIRST_WORD.match(step.sql)
    if begins is None or begins[1].upper() not in _QUERIES:
        return None
    return _error(step, step.sql_where, "a literal, a quoted name or a comment has no end", "close it")


def _unbalanced(step: StepPlan, found: Sequence[Token]) -> Diagnostic | None:
    opened: list[Token] = []
    for token in found:
        text = _text(step, token) if token.kind == "code" else ""
        if text in _PAIRS.values():
            opened.append(token)
        elif text in _PAIRS and (not opened or _text(step, opened.pop()) != _PAIRS[text]):
            return _at(step, token, f"`{text}` closes no `{_PAIRS[text]}`", _FIX)
    return _at(step, opened[-1], f"`{_text(step, opened[-1])}` is never closed", _FIX) if opened else None


def _second_statement(step: StepPlan, found: Sequence[Token]) -> Diagnostic | None:
    texts = [_text(step, token) for token in found]
    end = texts.index(";") if ";" in texts else len(texts)
    more = next((token for token, text in zip(found[end:], texts[end:], strict=True) if text != ";"), None)
    return _at(step, more, "a step has one statement, and here begins another one", "make it a step") if more else None


def _has_other_tables(settings: Mapping[str, str], depots: Sequence[Depot]) -> bool:
    """Whether a plain name may be a table that only Spark's current catalog knows."""
    hive = settings.get("spark.sql.catalogImplementation") == "hive"
    shared = any(depot.catalog and traits.one_catalog for depot in depots for traits in held_by(depot.kind))
    return hive or shared or "spark.sql.defaultCatalog" in settings


def _unknown_views(job: Job, steps: Sequence[StepPlan], broken: Sequence[str]) -> Iterator[Diagnostic]:
    """Report names that are neither an input nor an earlier step nor a view that an earlier step creates."""
    own = {step.name.lower() for step in steps}
    contexts = {source.incremental.context.lower() for source in job.inputs if source.incremental}
    known = (job.names - own) | {source.name.lower() for source in job.inputs} | contexts
    for step in steps:
        if step.name not in broken and not _is_template(step.sql):
            statement = parse(step.sql)
            made = _made_by(statement)
            if made is None and not _is_query(step, statement):
                return  # this statement may define names that later steps use
            names = list(_plain_names(statement)) if statement else []
            yield from (_unknown(step, name, known, own) for name in names if name.name.lower() not in (*known, made))
            known |= {made} if made else set()
        known |= {step.name.lower()}


def _is_query(step: StepPlan, statement: exp.Expr | None) -> bool:
    from sqlglot import exp  # slow to import, and not every job has steps

    if statement is not None:
        return isinstance(statement, exp.Query | exp.Declare)
    first = next(iter(tokens(step.sql) or ()), None)
    return first is not None and _text(step, first).upper() in _QUERIES


def _made_by(statement: exp.Expr | None) -> str | None:
    """The view that a statement creates, in lower case; None if it creates none."""
    from sqlglot import exp

    if isinstance(statement, exp.Cache) or (isinstance(statement, exp.Create) and statement.kind == "VIEW"):
        target = statement.this.this if isinstance(statement.this, exp.Schema) else statement.this
        return str(target.name).lower()
    return None


def _plain_names(statement: exp.Expr) -> Iterator[exp.Identifier]:
    """The table names that have one part and are not defined in the statement itself."""
    from sqlglot import exp

    defined = {table.alias_or_name.lower() for table in statement.find_all(exp.CTE)}
    for table in statement.find_all(exp.Table):
        plain = isinstance(table.this, exp.Identifier) and len(table.parts) == 1
        if plain and table.name.lower() not in defined and not table.find_ancestor(exp.Hint):
            yield table.this


def _unknown(step: StepPlan, name: exp.Identifier, known: frozenset[str] | set[str], own: set[str]) -> Diagnostic:
    if name.name.lower() in own:
        hint: str | None = "a step can only read steps above it"
    else:
        hint = did_you_mean(name.name, known)
    tables = "SQL can name the job's inputs, the steps above, and tables as depot.collection.table"
    message = f"step `{step.name}`: `{name.name}` is neither an input nor an earlier step"
    return Diagnostic("unknown-view", message, step.at_offset(name.meta["start"]), hint or tables)


def _is_template(sql: str) -> bool:
    return "${" in sql or "{{" in sql


def _text(step: StepPlan, token: Token) -> str:
    return step.sql[token.start : token.end]


def _at(step: StepPlan, token: Token, message: str, hint: str) -> Diagnostic:
    return _error(step, step.at_offset(token.start), message, hint)


def _error(step: StepPlan, where: Position, message: str, hint: str) -> Diagnostic:
    return Diagnostic("sql-syntax", f"step `{step.name}`: {message}", where, hint)
