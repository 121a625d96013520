"""Directories of plain files on a real disk and a real ledger: what the tests of the journal stand on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from catchment.commit.publisher import Outcome
from catchment.formats.files import journal
from catchment.formats.files.journal import Addition, FileChanges
from catchment.formats.files.publishing import Directory
from catchment.formats.files.receipts import begun_before
from catchment.formats.files.stage import is_hidden, new_stage, published_name
from catchment.formats.files.storage import LocalStorage, Move, Storage
from catchment.store import Store
from catchment.store.ledger import Ledger
from catchment.store.writes import NO_BRANCH, Base, Entry, Intent, WriteMode

TARGET = "dataos://drop:none/d"
Parts = Mapping[str, Sequence[str]]
"""The rows of each partition: every row is a file that holds it, until a compaction puts several into one."""


class Died(BaseException):
    """Stands for a kill."""


class Mortal(LocalStorage):
    """A disk under a publisher that dies after some changes, each file being one."""

    def __init__(self, root: str, lives: int) -> None:
        super().__init__(root)
        self.lives = lives

    def place(self, moves: Sequence[Move]) -> None:
        for move in moves:
            self._live()
            super().place([move])

    def remove(self, files: Sequence[str]) -> None:
        for file in files:
            self._live()
            super().remove([file])

    def clear(self, directory: str) -> None:
        self._live()
        super().clear(directory)
        self._live()

    def _live(self) -> None:
        if self.lives == 0:
            raise Died
        self.lives -= 1


@dataclass
class Dataset:
    """One directory, written through the journal."""

    root: Path
    store: Store
    ledger: Ledger = field(init=False)

    def __post_init__(self) -> None:
        self.ledger = self.store.ledger

    def sealed(self, write_id: str, parts: Parts, mode: WriteMode, stage: str = "") -> Entry:
        """A write whose files are staged and sealed."""
        stage = stage or new_stage(str(self.root), write_id)
        intent = self.intent(write_id, mode, stage)
        self.ledger.open(intent)
        additions = [
            _staged(stage, part, number, row) for part, rows in parts.items() for number, row in enumerate(rows)
        ]
        self.ledger.seal(intent, journal.contents(FileChanges(tuple(additions)), len(additions)))
        return self.found(write_id)

    def compacted(self, write_id: str, part: str, into: int = 1) -> Entry:
        """A compaction of one partition that has read its files, and waits to be published."""
        stage = new_stage(str(self.root), write_id)
        intent = self.intent(write_id, "maintain", stage)
        self.ledger.open(intent)
        read = sorted(path for path in (self.root / part).iterdir() if not is_hidden(path.name))
        texts = ["\n".join(path.read_text() for path in read[number::into]) for number in range(into)]
        merged = [_staged(stage, "", number, text) for number, text in enumerate(texts)]
        placed = tuple(replace(each, path=f"{part}/{each.path}") for each in merged)
        changes = FileChanges(placed, tuple(f"{part}/{path.name}" for path in read))
        self.ledger.seal(intent, journal.contents(changes, len(read)))
        return self.found(write_id)

    def again(self, write_id: str, parts: Parts, mode: WriteMode) -> None:
        """Run a write once more, as a job that is resumed does."""
        stage = new_stage(str(self.root), write_id)
        begun = begun_before(LocalStorage(str(self.root)), stage, write_id)
        if begun is None:
            self.sealed(write_id, parts, mode, stage)
        else:
            intent = self.intent(write_id, mode, begun.stage)
            self.ledger.open(intent)
            self.ledger.seal(intent, begun.contents)
        self.publish()

    def intent(self, write_id: str, mode: WriteMode, stage: str) -> Intent:
        return Intent(
            *(write_id, "flow", TARGET, NO_BRANCH, mode, "last-wins", "engine/1", stage, Base("", 0, 0, None)),
            dataset={"address": TARGET, "depot": "drop", "format": "text", "path": str(self.root)},
        )

    def publish(self, storage: Callable[[str], Storage] = LocalStorage) -> Outcome:
        """Publish the head of the queue, as whoever holds the lease does."""
        batch = self.ledger.pending(TARGET, limit=1)
        outcome = Directory(storage, self.ledger).consolidate(batch, lambda: None)
        self.ledger.mark_committed(TARGET, outcome.committed)
        for write in batch:
            if write.write_id in outcome.refused:
                self.ledger.abandon(write, {"code": outcome.refused[write.write_id].code, "message": ""})
        return outcome

    def write(self, write_id: str, parts: Parts, mode: WriteMode) -> None:
        self.sealed(write_id, parts, mode)
        self.publish()

    def found(self, write_id: str) -> Entry:
        write = self.ledger.find(write_id)
        assert write is not None
        return write

    def rows(self) -> dict[str, Counter[str]]:
        """What a reader sees, by partition."""
        seen: dict[str, Counter[str]] = {}
        for file in self.root.rglob("*"):
            path = file.relative_to(self.root).as_posix()
            if file.is_file() and not is_hidden(path):
                seen.setdefault(path.rpartition("/")[0], Counter()).update(file.read_text().splitlines())
        return seen

    def stages(self) -> list[str]:
        return sorted(stage.name for stage in self.root.parent.glob(f".catchment-stage/.{self.root.name}/*"))


def expected(parts: Parts) -> dict[str, Counter[str]]:
    return {part: Counter(rows) for part, rows in parts.items() if rows}


def _staged(stage: str, part: str, number: int, row: str) -> Addition:
    name = f"part-{number:05}-01234567-89ab-cdef-0123-456789abcdef.c000.txt"
    staged = f"{part}/{name}" if part else name
    path = Path(stage) / staged
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(row)
    path.with_name(f".{name}.crc").write_text("checksum")
    return Addition(staged, published_name(staged, stage), path.stat().st_size)
