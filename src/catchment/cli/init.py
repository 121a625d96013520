"""`catchment init [DIRECTORY]`."""

from __future__ import annotations

import shutil
from importlib import resources
from pathlib import Path

import click

from catchment.cli import options
from catchment.errors import RequestError

_FILES = ("catchment.yaml", "orders.yaml", "data/orders.json")


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), default=Path())
@options.debug
def init(directory: Path) -> None:
    """Write a small project: catchment.yaml, an example workflow and its data. Nothing is overwritten."""
    taken = [name for name in _FILES if (directory / name).exists()]
    if taken:
        raise RequestError(
            f"{directory / taken[0]} is already there; nothing was written",
            code="already-exists",
            hint="name another directory: catchment init DIRECTORY",
        )
    try:
        _lay_out(directory)
    except OSError as error:
        raise RequestError(f"cannot write into {directory}: {error.strerror}", code="no-permission") from error
    for name in _FILES:
        click.echo(directory / name)
    click.echo(f"next: catchment run {directory / 'orders.yaml'}", err=True)


def _lay_out(directory: Path) -> None:
    with resources.as_file(resources.files("catchment.cli") / "template") as template:
        for name in _FILES:
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(template / name, directory / name)
