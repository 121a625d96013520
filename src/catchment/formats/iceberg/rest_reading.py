"""A REST catalog of Iceberg tables, through PyIceberg. No Spark here."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pyiceberg.catalog.rest import RestCatalog as PyIcebergCatalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.io import FileIO, InputFile, OutputFile

from catchment.formats.iceberg.metadata_reader import Found, normalised
from catchment.formats.metadata_reading import NeedsEngine
from catchment.plan.model import Dataset

KNOWN = ("uri", "warehouse", "prefix", "token", "credential", "scope", "oauth2-server-uri", "header.", "s3.", "client.")
"""Properties, or prefixes of their names, that mean the same to PyIceberg and to Iceberg's Java client."""
HARMLESS = ("type", "io-impl", "cache-enabled", "rest.client.", "rest-page-size")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class RestCatalog:
    """A catalog behind HTTP that returns the metadata itself."""

    properties: Mapping[str, str]
    catalog: PyIcebergCatalog

    @classmethod
    def connected(cls, name: str, properties: Mapping[str, str]) -> RestCatalog:
        """Connect to the catalog and load its configuration."""
        strange = next((key for key in properties if not key.startswith((*KNOWN, *HARMLESS))), None)
        if strange is not None:
            raise NeedsEngine(f"{strange} is set")
        given = {key: value for key, value in properties.items() if key.startswith(KNOWN)}
        files = {"py-io-impl": f"{__name__}.{NoFiles.__name__}"}
        return cls(properties, _asked(lambda: PyIcebergCatalog(name, **given, **files)))

    def tables(self) -> Sequence[tuple[str, str]]:
        """Every table of every collection."""
        found = _asked(
            lambda: [each for space in self.catalog.list_namespaces() for each in self.catalog.list_tables(space)]
        )
        return [(".".join(each[:-1]), each[-1]) for each in found]

    def find(self, dataset: Dataset) -> Found | None:
        """A table with its metadata."""
        try:
            table = _asked(lambda: self.catalog.load_table((*str(dataset.namespace).split("."), str(dataset.table))))
        except (NoSuchTableError, NoSuchNamespaceError):
            return None
        metadata: dict[str, Any] = json.loads(table.metadata.model_dump_json())
        return Found(table.metadata_location, normalised(metadata), table.io.properties)

    def published(self, catalog: str, dataset: Dataset) -> str | None:
        """None: tables of REST catalogs cannot be published."""
        return None


def _asked(ask: Callable[[], Answer]) -> Answer:
    try:
        return ask()
    except (NoSuchTableError, NoSuchNamespaceError):
        raise
    except Exception as error:  # PyIceberg's errors have nothing in common
        raise NeedsEngine(f"PyIceberg cannot read the catalog: {type(error).__name__}: {error}") from error


class NoFiles(FileIO):
    """Holds the properties that the catalog returns. PyIceberg's own FileIO takes a second to load."""

    def new_input(self, location: str) -> InputFile:
        raise NotImplementedError

    def new_output(self, location: str) -> OutputFile:
        raise NotImplementedError

    def delete(self, location: str | InputFile | OutputFile) -> None:
        raise NotImplementedError
