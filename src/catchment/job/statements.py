"""Runs the SQL of users, after Spark's own plan has shown what it does.

A statement may read, and change its own session. Whatever may change more is refused unless it is explicitly allowed.
The plan decides, never the text: IDENTIFIER, WITH and comments hide nothing from it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catchment.errors import JobError
from catchment.job import cached_tables
from catchment.jvm.causes import causes
from catchment.jvm.classes import Jvm

_READ = ("Show", "Describe", "Explain", "List")
"""Prefixes of the names of commands that only read."""
_LOCAL = frozenset(
    {
        *("SetCommand", "ResetCommand", "SetCatalogAndNamespace", "SetCatalogCommand", "SetNamespaceCommand"),
        *(cached_tables.CACHES, cached_tables.CACHES_QUERY, cached_tables.UNCACHES, cached_tables.CLEARS),
        *("CreateVariable", "SetVariable", "DropVariable", "DropTempViewCommand"),
    }
)
"""The names of commands that change nothing but their session. To refresh what others have cached is more."""
_LOCAL_IF: Mapping[str, Callable[[Any], bool]] = {
    "CreateViewCommand": lambda plan: str(plan.viewType().toString()) == "LocalTempView",
    "CreateTempViewUsing": lambda plan: not getattr(plan, "global")(),
    "CreateSQLFunctionCommand": lambda plan: bool(plan.isTemp()),
    "DropFunctionCommand": lambda plan: bool(plan.isTemp()),
}
"""The names of commands that change nothing but their session if a condition holds."""
_CALLS = frozenset({"Call", "CallStatement"})
_HIDING = frozenset({"UnresolvedExecuteImmediate", "CompoundBody"})
"""The names of parsed statements with statements inside that nobody sees before they run."""
_OPAQUE = _CALLS | _HIDING
"""The names of parsed statements that Spark runs while it analyses them, or whose effect no plan shows."""
_RUNS_PROGRAM = "ScriptTransformation"
_CALLS_JAVA = frozenset({"CallMethodViaReflection", "TryReflect"})
"""The names of expressions that call any method of any class (`reflect`, `java_method`, `try_reflect`)."""
_RELATIONS = frozenset({"DataSourceV2Relation", "ResolvedTable"})
_READ_ONLY_STATE = "25006"
_SQLITE_READ_ONLY = 8


@dataclass(frozen=True)
class Allowed:
    """What the statements of a job or a query may do."""

    side_effects: bool = False
    """Whether they may change more than their session."""
    published: Collection[str] = ()
    """Catalogs that are never writable, whatever else is allowed."""
    unpublished: Collection[str] = ()
    """Catalogs that must not be read, because the query is for the published versions of their tables."""
    hint: str = "use a query here"
    """How to allow more."""


def run_statement(spark: SparkSession, sql: str, allowed: Allowed) -> DataFrame:
    """Run a statement; raises before it has any effect if it may do more than is allowed."""
    plans = _Plans(spark)
    parsed = plans.parse(sql)
    stated = _explained(parsed)
    if allowed.side_effects and _name(stated) in _HIDING:
        cached_tables.check_visible(sql)
    _check_published(plans, stated, allowed)
    if allowed.side_effects:
        return _run_guarded(plans, sql, parsed, allowed)
    if _name(stated) in _OPAQUE:
        raise _refusal(_name(stated), allowed)
    analysed = plans.analyse(parsed)
    # An explained statement is optimised, for which Spark may compute parts of it.
    looked_at = analysed if stated is parsed else plans.analyse(stated)
    if _may_run_program(sql) and any(_name(node) == _RUNS_PROGRAM for node in _nodes(looked_at)):
        raise _refusal(_RUNS_PROGRAM, allowed)
    _check_parts(plans, looked_at, allowed)
    if not plans.has_command(analysed):
        return plans.frame(analysed)
    if not _is_harmless(analysed):
        raise _refusal(_name(analysed), allowed)
    return _run(plans, sql, analysed)


def check_setting(key: str, published: Collection[str]) -> None:
    """Raise if a setting belongs to a published catalog, which it could make writable."""
    for name in published:
        if key == f"spark.sql.catalog.{name}" or key.startswith(f"spark.sql.catalog.{name}."):
            raise _read_only(f"{key} is a setting of a published catalog")


@dataclass(frozen=True)
class _Plans:
    """Spark's parser and analyser, used without running any command."""

    spark: SparkSession

    def parse(self, sql: str) -> Any:
        return self._state.sqlParser().parsePlan(sql)

    def analyse(self, parsed: Any) -> Any:
        modes = Jvm.of(self.spark)("org.apache.spark.sql.execution.CommandExecutionMode")
        return self._state.executePlan(parsed, modes.SKIP()).analyzed()

    def has_command(self, plan: Any) -> bool:
        return bool(
            plan.containsPattern(Jvm.of(self.spark)("org.apache.spark.sql.catalyst.trees.TreePattern").COMMAND())
        )

    def frame(self, analysed: Any) -> DataFrame:
        """The rows of a query that is analysed already."""
        session = self.spark._jsparkSession
        datasets = Jvm.of(self.spark)(f"{session.getClass().getPackageName()}.Dataset")
        return DataFrame(datasets.ofRows(session, analysed), self.spark)

    def current_catalog(self) -> str:
        return str(self._state.catalogManager().currentCatalog().name())

    @property
    def _state(self) -> Any:
        return self.spark._jsparkSession.sessionState()


def _name(plan: Any) -> str:
    return str(plan.getClass().getSimpleName()).rstrip("$")


def _explained(parsed: Any) -> Any:
    """The parsed statement; for EXPLAIN, the statement that it explains."""
    while _name(parsed) == "ExplainCommand":
        parsed = parsed.logicalPlan()
    return parsed


def _is_harmless(command: Any) -> bool:
    name = _name(command)
    decide = _LOCAL_IF.get(name)
    return decide(command) if decide else name in _LOCAL or name.startswith(_READ)


def _may_run_program(sql: str) -> bool:
    """Whether a query may pass rows through a program: a cheap test, because every such query has one of these."""
    return "using" in sql.lower() or "${" in sql


def _check_parts(plans: _Plans, analysed: Any, allowed: Allowed) -> None:
    """Raise if a statement calls Java, or reads what it must not."""
    if (function := _java_function(plans, analysed)) is not None:
        raise _refusal(f"{function}, which calls Java", allowed)
    for node in _nodes(analysed) if allowed.unpublished else ():
        found = _catalog_of(node) if _name(node) in _RELATIONS else None
        if found is not None and found in allowed.unpublished:
            raise _unpublished(found, node)


def _java_function(plans: _Plans, analysed: Any) -> str | None:
    """The name of a function in a plan that calls methods of Java; None if there is none."""

    def may_have_one(node: Any) -> bool:
        # Calls of Java are not deterministic, so one question settles most plans. Commands hide what they run.
        return not node.deterministic() or plans.has_command(node)

    for node in _nodes(analysed, may_have_one):
        for expression in _tree(_listed(node.expressions()), lambda one: _listed(one.children())):
            if _name(expression) in _CALLS_JAVA:
                return str(expression.prettyName())
    return None


def _catalog_of(relation: Any) -> str | None:
    """The name of the catalog that a relation is from; None if it has no catalog."""
    catalog = relation.catalog()
    if _name(relation) == "DataSourceV2Relation":
        catalog = catalog.get() if catalog.isDefined() else None
    return str(catalog.name()) if catalog is not None else None


def _nodes(plan: Any, wanted: Callable[[Any], bool] = lambda _: True) -> Iterator[Any]:
    """The wanted nodes of a plan, of its subqueries and of what a command runs; not those below unwanted ones."""
    return _tree([plan], lambda node: [*_listed(node.children()), *_listed(node.innerChildren())], wanted)


def _tree(
    roots: list[Any], below: Callable[[Any], list[Any]], wanted: Callable[[Any], bool] = lambda _: True
) -> Iterator[Any]:
    left = roots
    while left:
        node = left.pop()
        if wanted(node):
            yield node
            left += below(node)


def _listed(sequence: Any) -> list[Any]:
    return [sequence.apply(index) for index in range(sequence.size())]


def _check_published(plans: _Plans, stated: Any, allowed: Allowed) -> None:
    """Raise if a statement may get past the database connection of a published catalog, which refuses every commit."""
    name = _name(stated)
    if name == "SetCommand" and stated.kv().isDefined():
        check_setting(str(stated.kv().get()._1()), allowed.published)
    if not allowed.side_effects or not allowed.published or name not in _OPAQUE:
        return
    if name not in _CALLS:
        raise _read_only("what this statement runs is known only when it runs, and this engine has a published catalog")
    if _called_catalog(plans, stated) in (None, *allowed.published):
        raise _read_only("this CALL may run a procedure of a published catalog")


def _called_catalog(plans: _Plans, call: Any) -> str | None:
    """The catalog of the procedure that is called; None if it is known only when it runs."""
    if _name(call) == "CallStatement":
        parts = call.name()
    elif _name(call) == "Call" and _name(call.procedure()) == "UnresolvedProcedure":
        parts = call.procedure().nameParts()
    else:
        return None
    names = [str(parts.apply(index)) for index in range(parts.size())]
    return names[0] if len(names) > 2 else plans.current_catalog()


def _run(plans: _Plans, sql: str, analysed: Any) -> DataFrame:
    """Run a statement; what it caches is kept from other sessions, and what they have cached is left to them."""
    match _name(analysed):
        case cached_tables.CACHES:
            return cached_tables.cache_table(plans.spark, sql, analysed)
        case cached_tables.CACHES_QUERY:
            return cached_tables.cache_query(analysed, plans.frame(analysed.plan()))
        case cached_tables.UNCACHES:
            return cached_tables.uncache_table(plans.frame(analysed.table()))
        case cached_tables.CLEARS:
            return cached_tables.uncache(plans.spark)
    return plans.spark.sql(sql)


def _run_guarded(plans: _Plans, sql: str, parsed: Any, allowed: Allowed) -> DataFrame:
    try:
        # Spark runs opaque statements while it analyses them.
        looked_at = cached_tables.mentions(sql) and _name(_explained(parsed)) not in _OPAQUE
        return _run(plans, sql, plans.analyse(parsed) if looked_at else parsed)
    except Exception as error:
        if allowed.published and any(map(_is_read_only, causes(error))):
            raise _read_only("the database of the catalog refused to be written") from error
        raise


def _is_read_only(cause: Any) -> bool:
    if "java.sql.SQLException" not in cause.classes:
        return False
    of_sqlite = "org.sqlite.SQLiteException" in cause.classes and int(cause.java.getErrorCode()) == _SQLITE_READ_ONLY
    return of_sqlite or cause.java.getSQLState() == _READ_ONLY_STATE


def _refusal(name: str, allowed: Allowed) -> JobError:
    return JobError(
        f"this is not a query: it may change more than its own session (Spark's plan is {name})",
        code="side-effects",
        hint="leave it out: every job reads tables as they are now" if name.startswith("Refresh") else allowed.hint,
    )


def _unpublished(catalog: str, relation: Any) -> JobError:
    return JobError(
        f"only published versions are to be read, and this query reads {relation.name()} of the depot {catalog} itself",
        code="unpublished-read",
        hint="write the names of tables plainly (`depot.collection.table`), without IDENTIFIER and default catalogs",
    )


def _read_only(what: str) -> JobError:
    return JobError(
        f"published catalogs are read-only: {what}",
        code="published-read-only",
        hint="write to the depot, then publish with `catchment table publish`",
    )
