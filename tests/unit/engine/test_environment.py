from __future__ import annotations

import pytest

from catchment.engine.environment import environment

NEEDED = ("PATH", "HOME", "TZ", "LC_TIME", "https_proxy", "NO_PROXY", "JAVA_HOME", "SPARK_LOCAL_IP", "HADOOP_CONF_DIR")
OTHERS = (
    "AWS_SECRET_ACCESS_KEY",
    "AWS_PROFILE",
    "GITHUB_TOKEN",
    "PIP_INDEX_URL",
    "UV_INDEX_URL",
    "SPARK_HOME",
    "PATHS",
)


@pytest.fixture(autouse=True)
def everything_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*NEEDED, *OTHERS):
        monkeypatch.setenv(name, f"my {name}")
    monkeypatch.setenv("PYTHONPATH", "/mine")


def test_an_engine_gets_what_it_needs_and_no_more() -> None:
    found = environment(None, ("/pyspark",), {"MY_OWN": "x"}, "/scratch")
    assert {name: found.get(name) for name in NEEDED} == {name: f"my {name}" for name in NEEDED}
    assert not found.keys() & set(OTHERS)
    assert (found["MY_OWN"], found["TMPDIR"], found["PYTHONPATH"]) == ("x", "/scratch", "/pyspark:/mine")


def test_the_project_passes_more() -> None:
    found = environment("/spark", (), {}, "/scratch", ("AWS_*", "GITHUB"))
    assert {"AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"} <= found.keys()
    assert "GITHUB_TOKEN" not in found
    assert found["SPARK_HOME"] == "/spark"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"LC_ALL": "C"}, "C.UTF-8"),
        ({"LC_ALL": "", "LC_CTYPE": "POSIX", "LANG": "en_US.UTF-8"}, "C.UTF-8"),
        ({}, "C.UTF-8"),
        ({"LANG": "de_DE.utf8"}, None),
        ({"LC_ALL": "en_US.UTF-8", "LANG": "C"}, "en_US.UTF-8"),
    ],
)
def test_java_can_use_every_name_of_a_file(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], expected: str | None
) -> None:
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert environment(None, (), {}, "/scratch").get("LC_ALL") == expected
