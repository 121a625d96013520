"""What changes of tables have in common."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Asker:
    """Who asks for a change: a person, or a job of a run."""

    by: str
    run_id: str | None = None
    job: str | None = None

    @property
    def told(self) -> tuple[str, str | None, str | None]:
        """For the record."""
        return self.by, self.run_id, self.job
