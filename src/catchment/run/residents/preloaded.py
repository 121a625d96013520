"""A process beside a resident engine that has loaded Catchment, so that commands do not have to (`cli.preloaded_*`)."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import IO, cast

from catchment import handover, private_files
from catchment.own_program import own_program

PROGRAM = own_program("catchment.cli.preloaded_server")
LOG = "commands.log"


class Preloaded:
    """Such a process, which is needed until the context ends."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Let commands find it in the directory as soon as it has loaded everything."""
        if self._process is not None and self._process.poll() is None:
            return
        log = self._directory / LOG
        private_files.make_file(log)
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                (*PROGRAM, str(self._directory.absolute() / handover.SOCKET)),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
                cwd=self._directory,  # Python looks for modules there, and a project may have any
            )

    def __enter__(self) -> Preloaded:
        return self

    def __exit__(self, *_: object) -> None:
        """It ends by itself when the commands that it has begun have ended."""
        if self._process is not None:
            cast(IO[bytes], self._process.stdin).close()
