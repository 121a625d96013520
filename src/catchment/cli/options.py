"""Options that several verbs share. Each is defined once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from catchment.errors import RequestError

Command = TypeVar("Command", bound=Callable[..., Any])

DEBUG = "catchment.debug"
OUTPUT = "catchment.output"
DETACH = "catchment.detach"
ENVIRONMENT = "catchment.environment"
ENVIRONMENT_VARIABLE = "CATCHMENT_ENV"
SERVICE_NAME = "catchment.service-name"
RESTART = "catchment.restart"


def _remember(key: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Store an option in the context, so that the error report can read it after the verb has failed."""

    def callback(ctx: click.Context, _: click.Parameter, value: Any) -> Any:
        if value:
            ctx.meta[key] = value
        return value

    return callback


def debug(command: Command) -> Command:
    """`--debug`: stack traces for developers."""
    option = click.option(
        "--debug", is_flag=True, expose_value=False, callback=_remember(DEBUG), help="Show stack traces with errors."
    )
    return option(command)


def output(*forms: str) -> Callable[[Command], Command]:
    """`--output`: how the answer is printed; the first choice is the default."""
    return click.option(
        "--output",
        "-o",
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        callback=_remember(OUTPUT),
        help="How to print the answer.",
    )


def project(command: Command) -> Command:
    """`--project` and `--env`: where to look for catchment.yaml, and which of its environments to use."""
    for option in (
        click.option(
            "--env",
            "environment",
            metavar="NAME",
            envvar=ENVIRONMENT_VARIABLE,
            show_envvar=True,
            expose_value=False,
            callback=_remember(ENVIRONMENT),
            help="An environment of the project.",
        ),
        click.option(
            "--project",
            "where",
            type=click.Path(path_type=Path),
            default=Path(),
            help="The project: a directory or its catchment.yaml.  [default: found from here upwards]",
        ),
    ):
        command = option(command)
    return command


def _assignments(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    if wrong := [name for name, equals, _ in pairs if not name or not equals]:
        raise click.BadParameter(f"`{wrong[0]}` is not NAME=VALUE")
    names = [name for name, _, _ in pairs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise click.BadParameter(f"`{twice[0]}` is given twice")
    return {name: value for name, _, value in pairs}


def variables(command: Command) -> Command:
    """`--var`: values of variables."""
    text = "The value of a variable that `vars` declares; may be given several times."
    option = click.option("--var", "variables", multiple=True, metavar="NAME=VALUE", callback=_assignments, help=text)
    return option(command)


def selection(command: Command) -> Command:
    """`--select` and `--exclude`: which jobs to include."""
    for option in (
        click.option("--exclude", multiple=True, metavar="JOB", help="Leave out these jobs; written as in --select."),
        click.option(
            "--select",
            multiple=True,
            metavar="JOB",
            help="Only these jobs: JOB, +JOB with what it needs, JOB+ with what needs it, tag:NAME.",
        ),
    ):
        command = option(command)
    return command


def reporting(command: Command) -> Command:
    """The options of every verb that reports about a project: `--project`, `--env`, `--output`, `--debug`."""
    return project(output("text", "json")(debug(command)))


def jobs(command: Command) -> Command:
    """`--jobs`: how many jobs at once."""
    option = click.option("--jobs", type=click.IntRange(min=1), help="Run at most this many jobs at once.")
    return option(command)


def quiet(command: Command) -> Command:
    """`--quiet`: print the answer without progress messages."""
    return click.option("--quiet", "-q", is_flag=True, help="Print no progress messages, only errors.")(command)


def notify(command: Command) -> Command:
    """`--notify`: hooks of the project file that are notified when a run ends."""
    text = "Tell this hook of the project file how the run ends; may be given several times."
    return click.option("--notify", multiple=True, metavar="NAME", help=text)(command)


DETACHING = ("--detach", "--name", "--restart")
"""The options of `detach`, as written on the command line."""


def detach(command: Command) -> Command:
    """`--detach` and the options of a service. They are not passed to the verb, which calls `detaching.detached`."""
    flag, name, restart = DETACHING
    for option in (
        click.option(
            restart,
            "restart_policy",
            type=click.Choice(["never", "on-failure"]),
            expose_value=False,
            callback=_remember(RESTART),
            help="With --detach: whether to start the command again after it has failed.  [default: never]",
        ),
        click.option(
            name,
            "service_name",
            metavar="NAME",
            expose_value=False,
            callback=_remember(SERVICE_NAME),
            help="With --detach: the name of the service.  [default: made from the command]",
        ),
        click.option(
            flag,
            is_flag=True,
            expose_value=False,
            callback=_remember(DETACH),
            help="Start it as a service in the background, and print the name of the service.",
        ),
    ):
        command = option(command)
    return command


WORKFLOW_FILE = click.Path(path_type=Path)


def given(*names: str) -> list[str]:
    """Those of the named options that are on the command line, as they are written there."""
    ctx = click.get_current_context()
    spelled = {option.name: f"`{max(option.opts, key=len)}`" for option in ctx.command.params}
    return [spelled[name] for name in names if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]


def refuse(names: list[str], reason: str, hint: str) -> None:
    """Refuse options that would have no effect."""
    if names:
        effect = "has no effect" if len(names) == 1 else "have no effect"
        raise RequestError(f"{', '.join(names)} {effect}: {reason}", code="option-without-effect", hint=hint)
