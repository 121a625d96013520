"""Recovery: finish what is sealed, abandon what is open and ownerless, remove what nobody will ever publish."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from catchment.commit.abandonment import abandon_lost
from catchment.commit.publisher import Publisher
from catchment.errors import CommitConflict, JobError
from catchment.store import Store
from catchment.store.activity import ActiveWrite
from catchment.store.ledger import Ledger
from catchment.store.writes import Entry


@dataclass(frozen=True)
class Refusal:
    """A sealed write that cannot be published any more, and why."""

    write_id: str
    code: str
    message: str
    hint: str | None


@dataclass(frozen=True)
class Unfinished:
    """What there is to recover of one table, as the metastore tells it."""

    target: str
    sealed: tuple[str, ...]
    """Writes that will be published."""
    set_aside: tuple[Refusal, ...]
    """Sealed writes that could not be published; a person says whether to try again or to drop them."""
    lost: tuple[str, ...]
    """Open writes whose engine is gone: nobody will ever seal them."""
    alive: tuple[str, ...]
    """Open writes of engines that are heard from: only those engines may touch them."""
    buffers: tuple[str, ...]
    """Directories of the lost writes and of those that were abandoned before: what may be removed."""
    dataset: Mapping[str, Any]
    """The table or the files, as a plan resolved them."""

    @property
    def recoverable(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.sealed or self.set_aside or self.lost or self.buffers)


def unfinished(store: Store, wanted: Collection[str] | None = None) -> tuple[Unfinished, ...]:
    """The tables with open or sealed writes or with leftovers: all of them, or those that are wanted."""
    active = store.activity.writes()
    return tuple(
        _of_table(target, dataset, [write for write in active if write.target == target], store.ledger)
        for target, dataset in store.ledger.unfinished().items()
        if wanted is None or target in wanted
    )


def _reason(write: ActiveWrite) -> Refusal:
    error = write.error or {}
    return Refusal(write.write_id, str(error["code"]), str(error["message"]), error.get("hint"))


def _of_table(target: str, dataset: Mapping[str, Any], here: Sequence[ActiveWrite], ledger: Ledger) -> Unfinished:
    lost = [write for write in here if write.state == "open" and not write.alive]
    left = [buffer for _, buffer in ledger.leftovers(target)]
    return Unfinished(
        target,
        sealed=tuple(write.write_id for write in here if write.state == "sealed" and write.error is None),
        set_aside=tuple(_reason(write) for write in here if write.state == "sealed" and write.error is not None),
        lost=tuple(write.write_id for write in lost),
        alive=tuple(write.write_id for write in here if write.state == "open" and write.alive),
        buffers=(*(write.buffer for write in lost if write.buffered), *left),
        dataset=dataset,
    )


@dataclass(frozen=True)
class Recovered:
    """What recovery did to one table."""

    published: tuple[str, ...]
    refused: tuple[Refusal, ...]
    abandoned: tuple[str, ...]
    removed: tuple[str, ...]
    """Directories of abandoned writes whose files are gone."""
    kept: tuple[str, ...]
    """Those whose files stay: the table's history refers to them, or nobody asked to remove them."""


Remove = Callable[[Sequence[str]], Sequence[str]]
"""Removes those of some buffers that may be removed, and says which."""


def keep_buffers(buffers: Sequence[str]) -> tuple[str, ...]:
    """Remove nothing: nobody agreed to lose the files of abandoned writes."""
    return ()


def recover(publisher: Publisher[Any], remove: Remove) -> Recovered:
    """Recover one table or directory of files."""
    abandoned = abandon_lost(publisher.ledger, publisher.target)
    # Before anything is published: the files of what is refused now are not among those that somebody agreed to lose.
    left = [buffer for _, buffer in publisher.ledger.leftovers(publisher.target)]
    published, refused = _finish(publisher)
    removed = tuple(remove(left))
    publisher.ledger.forget(removed)
    kept = tuple(buffer for buffer in left if buffer not in removed)
    return Recovered(published, refused, abandoned, removed, kept)


def give_up_dropped(ledger: Ledger, target: str) -> Recovered:
    """End the writes of a table that is no longer there; without its history nobody may remove their files."""
    abandoned = abandon_lost(ledger, target)
    left = tuple(buffer for _, buffer in ledger.leftovers(target))
    sealed = (write for write in map(ledger.find, ledger.sealed_ids(target)) if write is not None)
    given_up = [write for write in sealed if ledger.abandon(write, _dropped(write))]
    ledger.forget((*left, *(write.intent.buffer for write in given_up)))
    refused = tuple(Refusal(write.write_id, **_dropped(write)) for write in given_up)
    return Recovered((), refused, abandoned, (), left)


def _dropped(write: Entry) -> dict[str, str]:
    return {
        "code": "table-dropped",
        "message": f"{write.intent.target} was dropped before {write.write_id} was published",
        "hint": f"if its rows are wanted, run its job again; its files stay in {write.intent.buffer}",
    }


def _finish(publisher: Publisher[Any]) -> tuple[tuple[str, ...], tuple[Refusal, ...]]:
    """Publish what is sealed now; what a living engine is about to publish is waited for."""
    published, refused = [], []
    for write_id in publisher.ledger.sealed_ids(publisher.target):
        try:
            published.append(publisher.publish(write_id).write_id)
        except (JobError, CommitConflict) as error:
            refused.append(Refusal(write_id, error.code, error.message, error.hint))
    return tuple(published), tuple(refused)
