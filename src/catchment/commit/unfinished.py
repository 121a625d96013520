"""What there is to recover, as the metastore tells it. Nothing here needs Spark."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from catchment.commit.activity import ActiveWrite, active_writes
from catchment.commit.ledger import Ledger
from catchment.commit.model import is_directory
from catchment.formats.files.stage import dataset_of
from catchment.store import Store


@dataclass(frozen=True)
class Unfinished:
    """The unfinished business of one table."""

    target: str
    sealed: tuple[str, ...]
    """Writes that will be published."""
    lost: tuple[str, ...]
    """Open writes whose engine is gone: nobody will ever seal them."""
    alive: tuple[str, ...]
    """Open writes of engines that are heard from: nobody's business but theirs."""
    buffers: tuple[str, ...]
    """Directories of the lost writes and of those that were abandoned before: what may be removed."""
    path: str | None = None
    """Where the files are, if it is no table."""

    @property
    def recoverable(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.sealed or self.lost or self.buffers)


def unfinished(store: Store, wanted: Collection[str] | None = None) -> tuple[Unfinished, ...]:
    """The tables with open or sealed writes or with leftovers: all of them, or those that are wanted."""
    ledger = Ledger(store.database)
    active = active_writes(store.database)
    return tuple(_of_table(each, active, ledger) for each in ledger.targets() if wanted is None or each in wanted)


def _of_table(target: str, active: tuple[ActiveWrite, ...], ledger: Ledger) -> Unfinished:
    here = [write for write in active if write.target == target]
    lost = [write for write in here if write.state == "open" and not write.alive]
    left = [buffer for _, buffer in ledger.leftovers(target)]
    places = (dataset_of(buffer) for buffer in (*(write.buffer for write in here), *left))
    return Unfinished(
        target,
        sealed=tuple(write.write_id for write in here if write.state == "sealed"),
        lost=tuple(write.write_id for write in lost),
        alive=tuple(write.write_id for write in here if write.state == "open" and write.alive),
        buffers=tuple(filter(is_directory, (*(write.buffer for write in lost), *left))),
        path=next(filter(None, places), None),
    )
