"""The registry of formats. A new format needs its folder and one line at the end of this file."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from catchment.errors import RequestError
from catchment.formats.traits import Traits
from catchment.project.model import EMBEDDED, Depot

if TYPE_CHECKING:
    from catchment.formats.metadata_reading import Access, MetadataReader

PLANNED = ("jdbc",)
"""Kinds of depots that are recognised but not supported yet."""

Ability = TypeVar("Ability")

_traits: dict[str, Traits] = {}
_folders: dict[str, str] = {}


def register(folder: str) -> None:
    """Register the format of a package, which has `traits.TRAITS` and `format.open_format`."""
    traits: Traits = importlib.import_module(f"{folder}.traits").TRAITS
    _traits[traits.name] = traits
    _folders[traits.name] = folder


def all_traits() -> tuple[Traits, ...]:
    """The traits of every format, in the order of registration."""
    return tuple(_traits.values())


def format_names() -> tuple[str, ...]:
    """All values that `format` of a dataset may have."""
    return tuple(name for traits in all_traits() for name in traits.formats)


def depot_kinds() -> tuple[str, ...]:
    """Every kind of depot that can be configured."""
    return tuple(_traits)


def traits_of(format: str) -> Traits:
    """The traits of a dataset's format."""
    found = next((traits for traits in all_traits() if format in traits.formats), None)
    if found is None:
        raise RequestError(
            f"there is no format {format}", code="unknown-format", hint=f"use one of {', '.join(format_names())}"
        )
    return found


def held_by(kind: str) -> tuple[Traits, ...]:
    """The formats that a kind of depot can hold, table formats first."""
    if kind == EMBEDDED:
        return tuple(sorted((each for each in all_traits() if each.embedded), key=lambda each: not each.is_table))
    return (_traits[kind],)


def in_use(kinds: Collection[str]) -> tuple[Traits, ...]:
    """The formats that depots of these kinds hold."""
    held = {traits.name for kind in kinds for traits in held_by(kind)}
    return tuple(traits for traits in all_traits() if traits.name in held)


def supporting(trait: str, value: str | None = None) -> str:
    """The names of the formats with a trait, for messages; if the trait is a set, it must contain `value`."""
    able = [each for each in all_traits() if _has(getattr(each, trait), value)]
    return ", ".join(each.name for each in able) or "no format"


def supporting_formats(trait: str) -> str:
    """All format names that are listed in a trait, for messages."""
    return ", ".join(sorted(name for each in all_traits() for name in getattr(each, trait)))


def open_format(format: str, ability: type[Ability]) -> Ability:
    """The code of a format as one of the protocols of `formats.model`; raises if it does not implement that one."""
    found = find_format(format, ability)
    if found is None:
        raise RequestError(
            f"the format {format} does not support this: {ability.__name__}",
            code="unsupported-by-format",
            hint="the reference of workflow files lists what each format supports",
        )
    return found


def find_format(format: str, ability: type[Ability]) -> Ability | None:
    """The code of a format as one of the protocols; None if it does not implement that one."""
    found = _load(format)
    return found if isinstance(found, ability) else None


def open_all(kinds: Collection[str], ability: type[Ability]) -> Iterator[Ability]:
    """The code of every format that depots of these kinds hold and that implements a protocol."""
    for traits in in_use(kinds):
        found = _load(traits.formats[0])
        if isinstance(found, ability):
            yield found


def open_metadata_reader(traits: Traits, depot: Depot, access: Access) -> MetadataReader:
    """The reader of a depot's tables that needs no engine; raises `NeedsEngine` if there is none."""
    from catchment.formats.metadata_reading import NeedsEngine

    module = f"{_folders[traits.name]}.metadata_reader"
    if find_spec(module) is None:
        raise NeedsEngine(f"only engines read {traits.name}")
    reader: MetadataReader = importlib.import_module(module).open_reader(depot, access)
    return reader


def _load(format: str) -> Any:
    return importlib.import_module(f"{_folders[traits_of(format).name]}.format").open_format(format)


def _has(trait: object, value: str | None) -> bool:
    return value in trait if isinstance(trait, frozenset) and value is not None else bool(trait)


register("catchment.formats.iceberg")
register("catchment.formats.delta")
register("catchment.formats.paimon")
register("catchment.formats.files")
register("catchment.formats.kafka")
