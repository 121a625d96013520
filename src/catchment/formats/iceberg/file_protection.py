"""Tables whose files have to stay, because other tables may need them (`gc.enabled=false`).

Iceberg's own expiry and removal of orphans refuse such a table, but with a message that helps nobody. A purge does not:
it removes the metadata and the manifests, and leaves data files that nothing lists any more.
"""

from __future__ import annotations

from catchment.errors import JobError
from catchment.formats.iceberg.catalogs import Table

PROPERTY = "gc.enabled"


def require_removable(table: Table, address: str) -> None:
    """Raise if the files of a table have to stay."""
    if str(table.properties().get(PROPERTY) or "true").lower() != "true":
        raise JobError(
            f"{address} has the property {PROPERTY}=false, so its files have to stay: other tables may need them",
            code="table-protected",
            hint=f"if none does: `catchment table properties unset {address} {PROPERTY}`",
        )
