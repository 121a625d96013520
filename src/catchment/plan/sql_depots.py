"""Finds the depots whose tables a statement names."""

from __future__ import annotations

from catchment import sql_parser
from catchment.plan.fitting import DEFAULT, fits
from catchment.project import depots
from catchment.project.model import Project


def depots_in(sql: str, project: Project) -> set[str]:
    """The depots that a statement names as `depot.collection.table`; none if it cannot be parsed outside Spark.

    The statement is parsed only if the default engine cannot read every depot, because parsing takes time.
    """
    every = [depot for depot in depots.known(project) if depots.holds_tables(depot)]
    if fits(project.engines[DEFAULT], every):
        return set()
    first = _first_parts(sql)
    return {depot.name for depot in every if depot.name in first or depot.publish in first}


def _first_parts(sql: str) -> set[str]:
    statement = sql_parser.parse(sql)
    if statement is None:
        return set()
    from sqlglot import exp

    named = (table.parts for table in statement.find_all(exp.Table))
    return {parts[0].name for parts in named if len(parts) > 1}
