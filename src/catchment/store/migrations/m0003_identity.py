"""The metastore gets an identity, which is the same in every copy of it."""

from __future__ import annotations

import uuid

from sqlalchemy import Connection, text


def apply(connection: Connection) -> None:
    """Give the metastore its identity."""
    connection.execute(text("CREATE TABLE metastore (id TEXT PRIMARY KEY)"))
    connection.execute(text("INSERT INTO metastore (id) VALUES (:id)"), {"id": uuid.uuid4().hex})
