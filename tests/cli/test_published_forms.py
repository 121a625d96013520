"""Old and odd forms that published workflows use, run for real: all of them in one run, without a project file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import catchment
from catchment.project import address
from tests.cli import program
from tests.spark.hosts import Host

FORMS = Path(__file__).parents[1] / "workflows" / "forms"
CITIES = [("Lyon", "fr", 520), ("Paris", "fr", 2100), ("Ulm", "de", 126)]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_every_form_runs(tmp_path: Path, lent: Host) -> None:
    shutil.copytree(FORMS, tmp_path, dirs_exist_ok=True)
    (tmp_path / "data").mkdir()
    rows = [{"city": city, "country": country, "people": people} for city, country, people in CITIES]
    (tmp_path / "data" / "cities.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = program.call("run", "all.yaml", "-o", "json", cwd=tmp_path, java=lent)
    assert ran.code == 0, ran.err
    written = {job["name"]: job["outputs"][0] for job in ran.data["jobs"]}
    assert {name: output["rows"] for name, output in written.items()} == {
        **dict.fromkeys(["sink-without-sequence", "trailing-slash", "given-twice", "delta-write", "delta-read"], 3),
        "plain-paths": 1,
        "typed-files": 2,
    }
    assert written["trailing-slash"]["dataset"] == "dataos://lakehouse:forms/by_slash"
    assert (tmp_path / ".catchment" / "depots" / "abfssdelta" / "delta" / "forms" / "cities" / "_delta_log").is_dir()
    small = [json.loads(line) for file in (tmp_path / "out/small").glob("*.json*") for line in _lines(file)]
    assert sorted(row["city"] for row in small) == ["Lyon", "Ulm"]
    with catchment.open(tmp_path).lake() as lake:
        kept = lake.query("SELECT city, country, people FROM lakehouse.forms.from_delta ORDER BY city").rows
        assert [tuple(row) for row in kept] == CITIES
        assert lake.query("SELECT DISTINCT shuffled FROM lakehouse.forms.by_country").rows == (("3",),)
        parts = lake.query("SELECT partition.country FROM lakehouse.forms.by_country.partitions ORDER BY 1").rows
        assert parts == (("de",), ("fr",))
        [table] = lake.inspect("tables", address.parse("dataos://abfssdelta:forms"))["tables"]
    assert table["address"] == "dataos://abfssdelta:forms/cities"


def _lines(file: Path) -> list[str]:
    import gzip

    content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return content.decode().splitlines()
