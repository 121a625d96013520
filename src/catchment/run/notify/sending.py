"""Hands messages to processes that deliver them, so that nobody waits for a hook that is slow or hangs."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import IO, Any

from catchment.errors import RequestError
from catchment.own_program import own_program
from catchment.project.model import Hook, HookEvent, Project
from catchment.project.secrets import Redactor
from catchment.run.notify.message import Message
from catchment.spec.validation import did_you_mean

COMMAND = own_program("catchment.run.notify.delivery")
LOG = "notify.log"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Notifier:
    """The hooks of a project."""

    hooks: tuple[Hook, ...]
    root: str
    environment: str | None
    log: str
    secrets: tuple[str, ...]

    @classmethod
    def of(cls, project: Project) -> Notifier:
        """The notifier of a project."""
        place = str(project.home / LOG)
        return cls(project.notify, str(project.root), project.environment, place, project.secrets)

    @classmethod
    def decoded(cls, data: Mapping[str, Any]) -> Notifier:
        """The notifier of a message from another process."""
        hooks = (Hook(**{**hook, "command": tuple(hook["command"]), "on": tuple(hook["on"])}) for hook in data["hooks"])
        return cls(**{**data, "hooks": tuple(hooks), "secrets": tuple(data["secrets"])})

    def on(self, event: HookEvent) -> tuple[Hook, ...]:
        """The hooks that want to hear of an event."""
        return tuple(hook for hook in self.hooks if event in hook.on)

    def named(self, names: Iterable[str]) -> tuple[Hook, ...]:
        """The hooks of these names; raises RequestError if there is none of one."""
        known = {hook.name: hook for hook in self.hooks}
        for name in (each for each in names if each not in known):
            listed = f"hooks are {', '.join(known)}" if known else "add it to `notify` in catchment.yaml"
            hint = did_you_mean(name, known) or listed
            raise RequestError(f"the project has no hook `{name}`", code="unknown-hook", hint=hint)
        return tuple(known[name] for name in names)

    def send(self, message: Message, hooks: Sequence[Hook]) -> None:
        """Let each hook have the message, some time soon. Whatever goes wrong, the caller goes on."""
        clean = Redactor(self.secrets).data(asdict(message))
        for hook in hooks:
            told = {"hook": _plain(hook), "message": clean, "root": self.root, "log": self.log, "secrets": self.secrets}
            try:
                _hand_over(json.dumps(told).encode())
            except OSError as error:
                log.warning("hook %s could not be told: %s", hook.name, error)


def _plain(hook: Hook) -> dict[str, object]:
    return {"name": hook.name, "webhook": hook.webhook, "command": list(hook.command)}


def _hand_over(told: bytes) -> None:
    # As its standard input, where nobody else can read the address: all of it is there before the process starts, and
    # stays when this one ends. In a session of its own, so that neither Ctrl-C nor the end of this process ends it.
    with _nameless_file() as file:
        file.write(told)
        file.seek(0)
        process = subprocess.Popen(
            COMMAND, stdin=file, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
    threading.Thread(target=process.wait, name="a notification", daemon=True).start()


def _nameless_file() -> IO[bytes]:
    """A file that ends with the last process that has it open; in memory if possible, because the disk may be full."""
    if sys.platform == "linux":
        return os.fdopen(os.memfd_create("notification"), "w+b")
    return tempfile.TemporaryFile()


def check_hooks(project: Project, names: Iterable[str]) -> None:
    """Raise RequestError if the project has no hook of one of these names."""
    Notifier.of(project).named(tuple(names))
