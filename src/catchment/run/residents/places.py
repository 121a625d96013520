"""Where the resident engines of a project are found: a directory for each, which only its owner may enter."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from catchment import handover, private_files, process_identity
from catchment.engine.attached import Door
from catchment.process_identity import ProcessIdentity
from catchment.project.model import Project

SOCKET = "socket"


@dataclass(frozen=True)
class Resident:
    """A resident engine that was started on this machine and has not said that it has ended."""

    service: str
    engine: str
    directory: Path
    token: str
    process: ProcessIdentity
    """The process that looks after it."""
    log: str

    @property
    def is_dead(self) -> bool:
        """Whether it has ended without saying so."""
        return process_identity.is_gone(self.process)

    @property
    def has_opened(self) -> bool:
        """Whether it has begun to let clients in."""
        return (self.directory / SOCKET).exists()

    @property
    def door(self) -> Door:
        return Door(str(self.directory / SOCKET), self.token, Path(self.log))

    @property
    def is_announced(self) -> bool:
        """Whether it is still the one that is found here: the directory may be gone, or another one's."""
        try:
            return bool(json.loads((self.directory / handover.ABOUT).read_text())["token"] == self.token)
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def forget(self) -> None:
        """Remove what is left of one that has ended."""
        if self.is_announced:
            _clear(self.directory)


def _clear(directory: Path) -> None:
    for name in (handover.ABOUT, SOCKET, handover.SOCKET):
        (directory / name).unlink(missing_ok=True)


def directory_of(project: Project, service: str) -> Path:
    """The directory of a resident engine, by the name of its service."""
    return project.home / "engines" / service


def announce(resident: Resident) -> None:
    """Let others find a resident engine; the file is there whole or not at all."""
    private_files.make_directory(resident.directory)
    _clear(resident.directory)
    about = {
        "engine": resident.engine,
        "directory": str(resident.directory.resolve()),
        "token": resident.token,
        "log": resident.log,
    }
    new = resident.directory / f".{handover.ABOUT}"
    private_files.make_file(new)
    new.write_text(json.dumps({**about, "process": asdict(resident.process)}))
    new.replace(resident.directory / handover.ABOUT)


def residents(project: Project) -> Iterator[Resident]:
    """Every resident engine of the project that this user has started on this machine, dead ones too."""
    for file in sorted((project.home / "engines").glob(f"*/{handover.ABOUT}")):
        found = _read(file)
        if found is not None and process_identity.is_here(found.process):
            yield found


def _read(file: Path) -> Resident | None:
    """What a file says; None if it is just gone, of another version or user, or a copy of another project's."""
    directory = file.parent
    try:
        if {file.stat().st_uid, directory.stat().st_uid} != {os.geteuid()}:
            return None
        about = json.loads(file.read_text())
        if about["directory"] != str(directory.resolve()):
            return None
        process = ProcessIdentity(**about["process"])
        return Resident(directory.name, about["engine"], directory, about["token"], process, about["log"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def named(project: Project, service: str) -> Resident | None:
    """The resident engine of a service, if it has been announced."""
    return next((each for each in residents(project) if each.service == service), None)
