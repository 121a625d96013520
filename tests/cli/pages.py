"""Does what a page of the docs says, with the page's own text: writes its files and runs its commands, in order."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.cli import program
from tests.spark.hosts import GATEWAY_FILE, PROCESSES, Host

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"# (\S+\.yaml)\n")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str

    @property
    def file(self) -> str | None:
        """The name of the file that the block shows, from the comment in its first line."""
        found = _FILE.match(self.text)
        return found[1] if found and self.language == "yaml" else None

    @property
    def commands(self) -> str:
        """What a reader would type: all of a block in `sh`, or the lines behind `$` of one with output."""
        if self.language == "sh":
            return self.text
        return "".join(f"{line}\n" for line in re.findall(r"^\$ (.*)$", self.text, re.MULTILINE))


def blocks(page: str) -> list[Block]:
    """Every block of a page, which is named relative to the project's directory."""
    return [Block(found["language"], found["text"]) for found in _BLOCK.finditer((ROOT / page).read_text())]


def files(page: str) -> dict[str, str]:
    """The files that a page shows."""
    return {block.file: block.text for block in blocks(page) if block.file}


def do(page: str, project: Path, java: Host) -> str:
    """Follow a page in a project; returns what its commands print. A command that fails is an error."""
    told = ""
    for block in blocks(page):
        if block.file:
            (project / block.file).write_text(block.text)
        elif block.language == "python":
            told += execute([sys.executable, "-c", block.text], project, java)
        elif block.commands:
            told += shell(block.commands, project, java)
    return told


def shell(commands: str, cwd: Path, java: Host) -> str:
    """Run commands as a person at a terminal who agrees to whatever is asked; RUN is the newest run."""
    if re.search(r"\bRUN\b", commands):
        newest = program.call("runs", "-o", "json", cwd=cwd).data["runs"][0]["run_id"]
        commands = re.sub(r"\bRUN\b", newest, commands)
    return execute(["bash", "-eo", "pipefail", "-c", commands], cwd, java)


def execute(command: list[str], cwd: Path, java: Host) -> str:
    """Run a command that finds `catchment`, with engines as guests of a Java."""
    bin = cwd / ".venv" / "bin"
    bin.mkdir(parents=True, exist_ok=True)
    (bin / "catchment").write_text(f'#!/bin/sh\nexec {sys.executable} {PROCESSES / "attached.py"} "$@"\n')
    (bin / "catchment").chmod(0o755)
    env = os.environ | {"PATH": f"{bin}:{os.environ['PATH']}", GATEWAY_FILE: str(java.gateway_file)}
    person, terminal = pty.openpty()
    try:
        os.write(person, b"y\n" * 5)
        done = subprocess.run(
            command, cwd=cwd, env=env, stdin=terminal, capture_output=True, text=True, timeout=200, check=False
        )
    finally:
        os.close(person)
        os.close(terminal)
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout}\n{done.stderr}"
    return done.stdout
