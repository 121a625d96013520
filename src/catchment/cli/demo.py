"""`catchment demo`: two jobs write one Iceberg table, in three ways, while a reader queries it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catchment.cli import options

if TYPE_CHECKING:
    from catchment.demo import demonstration


@click.command()
@click.option("--trips", "count", default=200_000, show_default=True, help="How many taxi trips to generate.")
@click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo"),
    show_default=True,
    help="Where to create the demo project; an earlier demo there is replaced.",
)
@options.output("text", "json")
@options.debug
def demo(count: int, directory: Path, output: str) -> None:
    """Run two writers on one table, in append and in dynamic overwrite, while a reader queries it."""
    from catchment.demo import demonstration

    click.echo(f"making {count:,} trips in {directory}/", err=True)
    made = demonstration.prepare(directory, count)
    scenes = demonstration.run_scenarios(directory, made, lambda line: click.echo(f"== {line}", err=True))
    if output == "json":
        _print_json(scenes)
    else:
        _print_text(scenes, directory)
    if any(scene.problems for scene in scenes):
        raise SystemExit(1)


def _print_json(scenes: tuple[demonstration.RoundResult, ...]) -> None:
    import json
    from dataclasses import asdict

    click.echo(json.dumps({"scenes": [asdict(scene) for scene in scenes]}, indent=2))


def _print_text(scenes: tuple[demonstration.RoundResult, ...], directory: Path) -> None:
    for scene in scenes:
        verdict = "ok" if not scene.problems else "WRONG"
        rows = ", ".join(f"vendor {vendor}: {count:,} rows" for vendor, count in scene.rows.items())
        click.echo(f"{verdict:5} {scene.title} (round {scene.round})")
        click.echo(f"      {rows}")
        click.echo(f"      meanwhile a reader asked {scene.queries} times and saw {_states(scene)}")
        for problem in scene.problems:
            click.echo(f"      problem: {problem}")
    program = Path(sys.argv[0]).absolute()
    click.echo(f"Look around: cd {directory} && {program} table snapshots dataos://lakehouse:raw01/trips")


def _states(scene: demonstration.RoundResult) -> str:
    count = "one state" if scene.states == 1 else f"{scene.states} states"
    return count if scene.problems else f"{count} of the table, every one made of whole writes"
