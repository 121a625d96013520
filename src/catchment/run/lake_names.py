"""The names of depots, tables and columns, for whoever writes SQL: looked up when needed, then remembered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from catchment.errors import CatchmentError
from catchment.formats.metadata_reading import NeedsEngine
from catchment.project import depots
from catchment.project.model import Address, Project
from catchment.run import inspection
from catchment.run.inspection import What


class Engines(Protocol):
    """What is asked of the engines of a session."""

    def inspect(self, what: What, address: Address) -> Mapping[str, Any]: ...
    def inspect_beside(self, what: What, address: Address) -> Mapping[str, Any]: ...


class LakeNames:
    """The names of one project. May be used from several threads."""

    def __init__(self, project: Project, engines: Engines) -> None:
        self._project, self._engines = project, engines
        self._known: dict[tuple[str, ...], Mapping[str, Any]] = {}

    def forget(self) -> None:
        """Look everything up again, because a statement may have changed it. Waits for nothing."""
        self._known = {}  # not cleared: what is being looked up at this moment must not get into it

    def depots(self) -> list[str]:
        """The depots with tables."""
        return [depot.name for depot in depots.known(self._project) if depots.holds_tables(depot)]

    def tables(self, depot: str) -> list[tuple[str, str]]:
        """Collection and name of every table of a depot; none if the depot cannot be read now."""
        found = self._find("tables", Address(depot, None, None, None))
        return [(table["namespace"], table["table"]) for table in found.get("tables", ())]

    def columns(self, depot: str, collection: str, table: str) -> list[str]:
        """The columns of a table; none if it cannot be read now."""
        found = self._find("table", Address(depot, collection, table, None))
        return [column["name"] for column in found.get("columns", ())]

    def facts(self, what: What, address: Address) -> Mapping[str, Any]:
        """Facts about a depot or a table as they are now; raises if they cannot be read."""
        try:
            return inspection.read(self._project, what, address)
        except NeedsEngine:
            return self._engines.inspect(what, address)

    def _find(self, what: What, address: Address) -> Mapping[str, Any]:
        """The facts, or none: nobody wants to read an error while writing, or to wait for the start of an engine."""
        known, key = self._known, (what, address.depot, address.collection or "", address.dataset or "")
        if key not in known:
            try:
                known[key] = self._quickly(what, address)
            except (CatchmentError, NeedsEngine):
                known[key] = {}
        return known[key]

    def _quickly(self, what: What, address: Address) -> Mapping[str, Any]:
        try:
            return inspection.read(self._project, what, address)
        except NeedsEngine:
            return self._engines.inspect_beside(what, address)
