"""Delivers one message to one hook: `python -m catchment.run.notify.delivery`, told on standard input.

It tries a few times, writes one line to the log, and ends in any case.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from subprocess import PIPE
from typing import Any

from catchment import private_files
from catchment.project.secrets import Redactor

PAUSES = (1.0, 5.0, 15.0)
"""Seconds before each further attempt."""
WEBHOOK_SECONDS = 10.0
COMMAND_SECONDS = 60.0
LOG_BYTES = 1024 * 1024
"""A log of this size is begun anew."""


class Refused(Exception):
    """The hook does not want the message, however often it is sent."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Takes a redirect for an answer: Python would follow it with GET, without the message."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def deliver(told: Mapping[str, Any], sleep: Callable[[float], None] = time.sleep) -> str:
    """Deliver a message; returns what came of it, in words."""
    hook, body = told["hook"], json.dumps(told["message"]).encode()
    trouble = ""
    for pause in (0.0, *PAUSES):
        sleep(pause)
        try:
            return _post(hook["webhook"], body) if hook["webhook"] else _call(hook["command"], body, told["root"])
        except Refused as error:
            return f"refused: {error}"
        except (OSError, ValueError) as error:
            trouble = str(error)
    return f"not delivered: {trouble}"


def _post(url: str, body: bytes) -> str:
    request = urllib.request.Request(  # noqa: S310 - the grammar lets only http and https through
        url, data=body, headers={"Content-Type": "application/json", "User-Agent": "catchment"}, method="POST"
    )
    try:
        with urllib.request.build_opener(_NoRedirects).open(request, timeout=WEBHOOK_SECONDS) as answer:
            return f"delivered, answer {answer.status}"
    except urllib.error.HTTPError as error:
        with error:
            if error.code < 500 and error.code != 429:
                raise Refused(f"answer {error.code}") from error
            raise OSError(f"answer {error.code}") from error


def _call(command: list[str], body: bytes, root: str) -> str:
    # In a process group of its own, so that what it has started ends with it.
    with subprocess.Popen(
        command, stdin=PIPE, stdout=subprocess.DEVNULL, stderr=PIPE, cwd=root, start_new_session=True
    ) as process:
        try:
            _, said = process.communicate(body, COMMAND_SECONDS)
        except subprocess.TimeoutExpired:  # it may have told people already
            os.killpg(process.pid, signal.SIGKILL)
            raise Refused(f"the command did not end within {COMMAND_SECONDS:.0f} seconds") from None
    if process.returncode == 0:
        return "delivered"
    last = said.decode(errors="replace").strip().splitlines()[-1:]
    raise Refused(" ".join([f"exit code {process.returncode}", *last]))


def main() -> None:
    """Deliver the message on standard input, and log what came of it."""
    told = json.loads(sys.stdin.buffer.read())
    outcome = deliver(told)
    now = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
    line = f"{now} hook {told['hook']['name']}: {told['message']['event']}: {outcome}"
    secrets = (*told["secrets"], *filter(None, [told["hook"]["webhook"]]))
    _log(Path(told["log"]), Redactor(secrets).text(line))


def _log(file: Path, line: str) -> None:
    private_files.make_directory(file.parent)
    if file.exists() and file.stat().st_size > LOG_BYTES:
        file.unlink()
    private_files.make_file(file)
    with file.open("a", encoding="utf-8") as log:
        log.write(line + "\n")


if __name__ == "__main__":
    main()
