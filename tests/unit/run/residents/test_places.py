"""How resident engines are found, whatever was left by those that have ended."""

from __future__ import annotations

import shutil
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from catchment import handover, process_identity
from catchment.project import load
from catchment.project.model import Project
from catchment.run.residents import places
from catchment.run.residents.places import Resident


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return load(tmp_path)


def resident(project: Project, service: str = "engine-default") -> Resident:
    directory = places.directory_of(project, service)
    return Resident(service, "default", directory, "token", process_identity.identity(), "engine.log")


def test_one_that_was_announced_is_found(project: Project) -> None:
    places.announce(resident(project))
    assert list(places.residents(project)) == [resident(project)]
    assert places.named(project, "engine-default") == resident(project)
    assert places.named(project, "another") is None


def test_its_token_is_for_its_owner_only(project: Project) -> None:
    places.announce(resident(project))
    directory = resident(project).directory
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / handover.ABOUT).stat().st_mode) == 0o600


def test_one_that_has_ended_is_not_found(project: Project) -> None:
    places.announce(resident(project))
    resident(project).forget()
    assert list(places.residents(project)) == []


def test_one_that_was_killed_is_dead(project: Project) -> None:
    gone = replace(resident(project), process=replace(process_identity.identity(), born=1))
    places.announce(gone)
    assert [each.is_dead for each in places.residents(project)] == [True]


def test_one_on_another_machine_is_nobodys_business(project: Project) -> None:
    there = replace(resident(project), process=replace(process_identity.identity(), machine="another"))
    places.announce(there)
    assert list(places.residents(project)) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"engine": "default"}', '{"engine": 1, "token": 2, "process": 3}'])
def test_a_file_that_is_none_is_skipped(text: str, project: Project) -> None:
    places.announce(resident(project))
    (resident(project).directory / handover.ABOUT).write_text(text)
    assert list(places.residents(project)) == []


def test_a_copy_of_a_project_does_not_find_the_engines_of_the_other(project: Project, tmp_path: Path) -> None:
    places.announce(resident(project))
    shutil.copytree(project.home, tmp_path / "copy" / ".catchment")
    assert list(places.residents(load(tmp_path / "copy"))) == []


def test_one_that_ends_late_leaves_its_successor_alone(project: Project) -> None:
    first, second = resident(project), replace(resident(project), token="another")
    places.announce(first)
    places.announce(second)
    assert not first.is_announced
    first.forget()
    assert list(places.residents(project)) == [second]
