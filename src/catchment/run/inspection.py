"""Questions about depots and tables: answered from metadata files where that is possible, else by an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from catchment.errors import JobError, RequestError
from catchment.formats.metadata_reading import MetadataReader, NeedsEngine
from catchment.formats.registry import in_use, open_metadata_reader, supporting, traits_of
from catchment.formats.traits import Traits
from catchment.plan.datasets import of_input
from catchment.plan.engines import reading_engine
from catchment.plan.fitting import choose_reader
from catchment.plan.model import Dataset, Partition
from catchment.project import depots
from catchment.project.address import parse
from catchment.project.model import Address, Depot, Project

if TYPE_CHECKING:
    from catchment.run.engine_pool import Launch
    from catchment.table_health import TableHealth

Tell = Callable[[str], None]
What = Literal["tables", "table", "snapshots", "files", "versions", "metadata"]


def inspect(
    project: Project,
    what: What,
    address: Address | str,
    *,
    tell: Tell = lambda _: None,
    explain: Tell = lambda _: None,
    launch: Launch | None = None,
) -> Mapping[str, Any]:
    """Facts about a depot (`tables`) or a table, named by its address or, for a depot, by its name.

    `tell` hears what takes time, and `explain` why an engine has to answer.
    """
    place = _place(address, project)
    try:
        return read(project, what, place)
    except NeedsEngine as reason:
        explain(f"an engine answers: {reason}")
    from catchment.run.lake import LakeSession

    with LakeSession(project, tables={place.depot}, tell=tell, launch=launch) as lake:
        return lake.inspect(what, place)


def read(project: Project, what: What, address: Address) -> Mapping[str, Any]:
    """Facts about a depot or a table from their metadata; raises `NeedsEngine` if only an engine can tell."""
    check_depot(project, address.depot)
    depot, dataset = depots.find(project, address.depot), asked_about(what, address, project)
    if dataset is None:
        formats = [traits for traits in in_use({depot.kind}) if traits.questions]
        readers = [_reader(traits, project, depot) for traits in formats]
        return {"tables": [table for reader in readers for table in reader.tables()]}
    try:
        return _reader(traits_of(dataset.format), project, depot).inspect(what, dataset)
    except JobError as error:
        raise request_error(error) from error


def health(
    project: Project, table: Dataset, small_file_bytes: int | None, wanted: Sequence[Partition] = ()
) -> TableHealth:
    """How well the files of a dataset serve its readers; raises `NeedsEngine` if only an engine can tell.

    Of very many partitions, those with the most to do are listed, and the wanted ones.
    """
    reader = _reader_of(project, table)
    try:
        return reader.health(table, small_file_bytes, lambda: _compacted(project, table)).shortened(wanted)
    except JobError as error:
        raise request_error(error) from error


def head(project: Project, table: Dataset) -> str | None:
    """The newest commit of a dataset, None if it has none; raises `NeedsEngine` if only an engine can tell."""
    try:
        return _reader_of(project, table).head(table)
    except JobError as error:
        raise request_error(error) from error


def _reader_of(project: Project, table: Dataset) -> MetadataReader:
    depot = depots.find(project, table.depot)
    return _reader(traits_of(table.format), project, depot, files=not table.is_table)


def asked_about(what: What, address: Address, project: Project) -> Dataset | None:
    """The table that a question is about; None if it is about a depot. Raises if its format has no such answer."""
    if what == "tables":
        return None
    dataset = of_input(str(address), None, project)
    if what not in traits_of(dataset.format).questions:
        raise RequestError(
            f"`{address}` is of format {dataset.format}, and has no {what}",
            code="unsupported-change",
            hint=f"it works on {supporting('questions', what)}",
        )
    return dataset


def check_depot(project: Project, name: str, *, files: bool = False) -> None:
    """Refuse a depot that does not exist, or has no tables; with `files`, one of plain files will do."""
    every = depots.known(project)
    known = sorted(depot.name for depot in every if depots.holds_tables(depot))
    if name not in known and not (files and name in {depot.name for depot in every}):
        raise RequestError(
            f"no depot `{name}` with tables is known here",
            code="unknown-depot",
            hint=f"depots with tables: {', '.join(known)}" if known else "no depot with tables exists here yet",
        )


def _reader(traits: Traits, project: Project, depot: Depot, *, files: bool = False) -> MetadataReader:
    """The reader of a depot, with the settings that the engine would have which would be asked otherwise."""
    from catchment.engine.lake_access import access_of

    reached = {depot.name} if files else set()
    choice = choose_reader(project, None, {depot.name})
    return open_metadata_reader(traits, depot, access_of(reading_engine(project, choice.engine, reached)))


def _compacted(project: Project, table: Dataset) -> float | None:
    """When the ledger has the last compaction of a table."""
    from catchment.store import read_store

    with read_store(project.metastore) as store:
        return store.activity.last_compaction(table.target)


def request_error(error: JobError) -> RequestError:
    """The error of whoever asked: no job has failed."""
    return RequestError(error.message, code=error.code, hint=error.hint, detail=error.detail)


def _place(address: Address | str, project: Project) -> Address:
    """What an address means, with the name that its depot has in this project."""
    if isinstance(address, str):
        address = parse(address) if "://" in address else Address(address, None, None, None)
    return replace(address, depot=depots.find(project, address.depot).name)
