"""What it costs to notice, drop and quarantine bad rows, against reading the same files as Spark does by itself.

    .venv/bin/python bench/bad_rows.py [--rounds 5] [--rows 2000000]

One run of one engine loads the same CSV files again and again, one job at a time: in each round once in every way, in
an order that turns. `kept` is Spark's own PERMISSIVE mode, which reads once and notices nothing. Reported: the median
and the range of the ratios to `kept` of the same round. The first round warms up and does not count.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

FILES = 4
BAD_EVERY = 1000
WAYS = {
    ("spoilt", "kept"): "options: {mode: PERMISSIVE}",
    ("spoilt", "drop"): "badRows: drop",
    ("spoilt", "quarantine"): 'badRows: quarantine, quarantine: "dataos://lakehouse:bench/bad?acl=rw"',
    ("clean", "kept"): "options: {mode: PERMISSIVE}",
    ("clean", "fail"): "badRows: fail",
}
PROJECT = """\
depots:
  drop: {kind: files, location: ./data}
  lakehouse: {kind: iceberg, location: ./lake}
"""
JOB = """\
  - name: {name}
    dependencies: [{after}]
    spec:
      stack: flare:7.0
      stackSpec:
        job:
          inputs:
          - {{name: rows, dataset: "dataos://drop:none/{data}", format: csv, schemaType: spark,
              schemaString: "id INT, shop STRING, amount DECIMAL(10,2), day DATE", {way}}}
          outputs:
          - {{name: rows, dataset: "dataos://lakehouse:bench/{name}?acl=rw", options: {{saveMode: overwrite}}}}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=2_000_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        prepare(Path(directory), asked.rows, asked.rounds + 1)
        report(seconds(Path(directory)), asked.rounds)


def prepare(directory: Path, rows: int, rounds: int) -> None:
    """Write the project, the data and a workflow with one job after the other."""
    (directory / "catchment.yaml").write_text(PROJECT)
    for kind in ("clean", "spoilt"):
        write(directory / "data" / kind, rows, spoilt=kind == "spoilt")
    jobs, after = [], ""
    for number in range(rounds):
        turned = [*WAYS][number % len(WAYS) :] + [*WAYS][: number % len(WAYS)]
        for data, way in turned:
            name = f"{data}-{way}-{number}"
            jobs.append(JOB.format(name=name, after=after, data=data, way=WAYS[data, way]))
            after = name
    (directory / "bench.yaml").write_text(
        "name: bench\nversion: v1\ntype: workflow\nworkflow:\n  dag:\n" + "".join(jobs)
    )


def write(directory: Path, rows: int, *, spoilt: bool) -> None:
    """Write CSV files; in spoilt ones, one row of a thousand has a word in the place of a number."""
    directory.mkdir(parents=True)
    for file in range(FILES):
        with (directory / f"part-{file}.csv").open("w") as out:
            out.write("id,shop,amount,day\n")
            for id in range(file, rows, FILES):
                amount = "about 7" if spoilt and id % BAD_EVERY == 7 else f"{id % 1000}.50"
                out.write(f"{id},shop-{id % 97},{amount},2026-01-{id % 28 + 1:02}\n")


def seconds(directory: Path) -> dict[str, float]:
    """The seconds of each job of the run."""
    program = Path(sys.executable).parent / "catchment"
    command = [str(program), "run", "bench.yaml", "--jobs", "1", "-o", "json"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr[-3000:])
    return {job["name"]: job["seconds"] for job in json.loads(done.stdout)["jobs"]}


def report(taken: dict[str, float], rounds: int) -> None:
    """Print a row for each way."""
    for data, way in WAYS:
        times = [taken[f"{data}-{way}-{number}"] for number in range(1, rounds + 1)]
        ratios = [each / taken[f"{data}-kept-{number}"] for number, each in enumerate(times, 1)]
        middle, spread = statistics.median(ratios), f"{min(ratios):.2f} to {max(ratios):.2f}"
        print(f"{data:7} {way:11} {statistics.median(times):6.1f} s   ratio {middle:.2f} ({spread})", flush=True)


if __name__ == "__main__":
    main()
