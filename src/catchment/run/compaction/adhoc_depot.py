"""A table that nobody configured, named by its warehouse: a depot that lives as long as one command."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from catchment.errors import Diagnostic, RequestError, Severity
from catchment.formats.registry import all_traits
from catchment.formats.store_files import S3_SCHEMES
from catchment.formats.traits import Traits
from catchment.project.address import parse
from catchment.project.model import Address, Catalog, Depot, Project
from catchment.project.places import absolute

_SECRET = re.compile(r"pass|secret|token|credential|key", re.IGNORECASE)
"""Settings whose values are never shown."""
_OF_STORES = ("fs.", "spark.")
"""What the names of settings begin with that are not for the catalog but for the store."""
TYPE, URI = "metastore", "uri"


def with_warehouse(
    project: Project, warehouse: str, database: str, table: str, conf: Mapping[str, str]
) -> tuple[Project, str]:
    """The project with a depot for the warehouse, whose warnings it has too, and the address of the table in it.

    A warehouse that the project has as a depot keeps that name: its writers and its compactors then know each other.
    """
    traits = next(each for each in all_traits() if each.by_warehouse)
    location = absolute(warehouse, Path.cwd())
    known = next((each for each in project.depots.values() if _is_at(each, traits, location)), None)
    if known is not None:
        if conf:
            raise RequestError(
                f"`--catalog-conf` has no effect: {warehouse} is the depot `{known.name}` of the project",
                code="option-without-effect",
                hint="leave it out: the project says what its catalog is",
            )
        return project, _address(known.name, database, table)
    name = f"warehouse-{hashlib.sha256(location.encode()).hexdigest()[:8]}"
    depot = _depot(name, traits, location, conf)
    made = replace(
        project,
        depots={**project.depots, name: depot},
        secrets=(*project.secrets, *secrets_in(conf)),
        warnings=(*project.warnings, *_warnings(replace(depot, name=warehouse), traits)),
    )
    return made, _address(name, database, table)


def secrets_in(conf: Mapping[str, str]) -> tuple[str, ...]:
    """The values of catalog settings that must not be shown."""
    return tuple(value for key, value in conf.items() if _SECRET.search(key))


def _is_at(depot: Depot, traits: Traits, location: str) -> bool:
    return depot.kind == traits.name and _place(depot.location) == _place(location)


def _place(location: str) -> str:
    """A location in one spelling: `s3` and `s3n` are other names of `s3a`."""
    scheme, mark, rest = location.rstrip("/").partition("://")
    return f"s3a://{rest}" if mark and scheme in S3_SCHEMES else location.rstrip("/")


def _depot(name: str, traits: Traits, location: str, conf: Mapping[str, str]) -> Depot:
    kind, uri = conf.get(TYPE, str(traits.default_catalog)), conf.get(URI)
    if kind not in traits.catalogs:
        raise RequestError(
            f"there is no catalog of type `{kind}` for tables of kind {traits.name}",
            code="unsupported-catalog",
            hint=f"write --catalog-conf {TYPE}={' or '.join(traits.catalogs)}",
        )
    allowed = traits.catalogs[kind].uri
    if allowed and not (uri or "").startswith(allowed):
        raise RequestError(
            f"a {kind} catalog needs a uri that begins with {' or '.join(allowed)}",
            code="bad-catalog-uri",
            hint=f"write --catalog-conf {URI}={allowed[0]}…",
        )
    rest = {key: value for key, value in conf.items() if key not in (TYPE, URI)}
    of_store = {key: value for key, value in rest.items() if key.startswith(_OF_STORES)}
    properties = {key: value for key, value in rest.items() if key not in of_store}
    return Depot(name, traits.name, location, Catalog(kind, uri, None, properties), of_store)


def _warnings(depot: Depot, traits: Traits) -> Iterator[Diagnostic]:
    """Warn if nothing but the lease keeps two commits apart; raises if a lock is asked for that does not exist."""
    for _, (code, message, hint) in traits.check_catalog(depot):
        raise RequestError(message, code=code, hint=hint)
    for code, message, hint in traits.check_guard(depot):
        yield Diagnostic(code, message, hint=hint, severity=Severity.WARNING)


def _address(depot: str, database: str, table: str) -> str:
    return str(parse(str(Address(depot, database, table, None))))
