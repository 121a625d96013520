"""Writes of plain files are known by the place of their files, which several addresses may name."""

from __future__ import annotations

from collections import Counter

from sqlalchemy import Connection, text

STAGES = "/.catchment-stage/"
"""What follows the place in the path of a stage."""
_STAGED = f"WHERE buffer LIKE '%{STAGES}%'"


def apply(connection: Connection) -> None:
    """Give each write the place as its target, and those that wait there one order: that of their seals."""
    select = f"SELECT write_id, buffer, state FROM writes {_STAGED} ORDER BY sealed, number, write_id"  # noqa: S608
    rows = connection.execute(text(select)).all()
    # First none has a number: two addresses of one place may have counted up to the same one.
    connection.execute(text(f"UPDATE writes SET number = NULL {_STAGED}"))  # noqa: S608
    numbers: Counter[str] = Counter()
    moved = text("UPDATE writes SET target = :place, number = :number WHERE write_id = :write_id")
    for row in rows:
        place = _place(row.buffer)
        numbers[place] += row.state == "sealed"
        number = numbers[place] if row.state == "sealed" else None
        connection.execute(moved, {"place": place, "number": number, "write_id": row.write_id})
    counted = text("INSERT INTO seals (target, number) VALUES (:place, :number)")
    for place, number in numbers.items():
        connection.execute(counted, {"place": place, "number": number})
    left = text("UPDATE leftovers SET target = :place WHERE buffer = :buffer")
    for row in connection.execute(text(f"SELECT buffer FROM leftovers {_STAGED}")).all():  # noqa: S608
        connection.execute(left, {"place": _place(row.buffer), "buffer": row.buffer})


def _place(buffer: str) -> str:
    return buffer.partition(STAGES)[0]
