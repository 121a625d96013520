"""An engine without Spark: a real program that speaks the protocol and does what the SQL of a job's step tells it.

The text is a list of words separated by `;`:
  sleep S · until FILE · beside N · note · batch · linger · crowded [N] · fail KIND [N] · die [N] · exhaust [N] ·
  overdraw · nonsense [N] · hang · stubborn
`beside N` waits until N jobs have begun; `crowded` waits for memory until another job has ended. Elsewhere N means that
only the first N attempts do it. Everything begun and ended goes to the file named by TRACE.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

TRACE = os.environ.get("TRACE", os.devnull)
BATCH = {"name": "rows", "batch": 1, "rows": 1, "seconds": 0.1, "rows_per_second": 10.0, "lag": {}}
NOTES: dict[str, dict[str, Any]] = {
    "note": {"progress": {"done": 1, "total": 2}, "warning": {"message": "mind the gap"}},
    "batch": {"batch": BATCH},
}
speaking = threading.Lock()
cancelled: dict[str, threading.Event] = {}
published: dict[str, threading.Event] = {}


class Over(Exception):
    """The attempt was answered."""


def say(kind: str, **fields: Any) -> None:
    with speaking:
        sys.stdout.write(json.dumps({"kind": kind, **fields}) + "\n")
        sys.stdout.flush()


def trace(what: str, **fields: Any) -> None:
    line = json.dumps({"what": what, "at": time.time(), "pid": os.getpid(), **fields}) + "\n"
    handle = os.open(TRACE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(handle, line.encode())
    os.close(handle)


def failed(attempt: str | None, kind: str) -> None:
    flags = {"retryable": kind == "transient", "setup": kind == "setup"}
    where = {"file": "w.yaml", "line": 3, "column": 7}
    hint = None if kind == "transient" else "mend it"
    message = f"it said no, {os.environ.get('SAYS', 'for a reason')}"
    say("failed", attempt=attempt, code=f"script-{kind}", message=message, hint=hint, where=where, **flags)


def reached(verb: str, what: str) -> bool:
    if verb == "until":
        return Path(what).exists()
    return Path(TRACE).read_text().count('{"what": "begin"') >= int(what)


def wait_for_memory(attempt: str) -> None:
    heap = {"heap_used": 300 * 2**20, "heap_most": 512 * 2**20, "running": 1}
    say("note", attempt=attempt, event="waiting-for-memory", data=heap)
    while '{"what": "end"' not in Path(TRACE).read_text():
        time.sleep(0.02)
    say("note", attempt=attempt, event="admitted", data={"seconds": 0.5})


def act(command: dict[str, Any], words: list[str]) -> None:
    attempt, verb = command["attempt"], words[0]
    limit = (
        int(words[-1])
        if verb in {"crowded", "fail", "die", "exhaust", "nonsense"} and words[-1].isdigit()
        else sys.maxsize
    )
    if verb == "sleep":
        time.sleep(float(words[1]))
    elif verb in {"until", "beside"}:
        while not reached(*words):
            time.sleep(0.02)
    elif verb == "linger":
        trace("sealed", job=command["job"]["name"])
        say("sealed", attempt=attempt, output=command["job"]["outputs"][0]["name"])
        published[attempt].wait()
        trace("published", job=command["job"]["name"])
    elif verb in NOTES:
        note(attempt, NOTES[verb])
    elif verb == "hang":
        cancelled[attempt].wait()
        say("failed", attempt=attempt, code="cancelled", message="cancelled", retryable=False)
        raise Over
    elif verb == "overdraw":
        say("failed", attempt=attempt, code="out-of-memory", message="Java heap space", retryable=False)
        raise Over
    elif verb == "stubborn":
        time.sleep(600)
    elif command["number"] <= limit:
        misbehave(attempt, words)


def note(attempt: str, notes: dict[str, Any]) -> None:
    for event, data in notes.items():
        say("note", attempt=attempt, event=event, data=data)


def misbehave(attempt: str, words: list[str]) -> None:
    if words[0] == "crowded":
        wait_for_memory(attempt)
    if words[0] == "fail":
        failed(attempt, words[1])
        raise Over
    if words[0] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if words[0] == "exhaust":
        os._exit(52)  # what Spark's own exit code for it becomes
    if words[0] == "nonsense":
        with speaking:
            sys.stdout.write("Exception in thread main\n")
            sys.stdout.flush()
        time.sleep(600)


def run_job(command: dict[str, Any]) -> None:
    job, attempt = command["job"], command["attempt"]
    request = command["request"]
    told = {"job": job["name"], "number": command["number"], "reference_time": request["reference_time"]}
    trace("begin", run=command["run_id"], windows=request["windows"], backfill=request["backfill"], **told)
    try:
        for words in job["steps"][0]["sql"].split(";"):
            if words.strip():
                act(command, words.split())
    except Over:
        trace("end", **told)
        return
    trace("end", **told)
    outputs = [
        {
            "name": output["name"],
            "dataset": output["dataset"]["address"],
            "write_id": f"{command['run_id']}/{job['name']}/{output['name']}",
            "rows": 10,
            "files": 2,
            "snapshot_id": str(2**62),
        }
        for output in job["outputs"]
    ]
    inputs = [{"name": "in", "dataset": "dataos://drop:none/in.csv", "bad_rows": 3}]
    say("done", attempt=attempt, outputs=outputs, inputs=inputs)


def answer(command: dict[str, Any]) -> None:
    attempt = command["attempt"]
    if command.get("sql") == "bad":
        failed(attempt, "job")
    elif command.get("sql") == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif command.get("sql") == "exhaust":
        os._exit(52)
    elif command.get("sql") == "hang" or command.get("depot", {}).get("name") == "hang":
        cancelled[attempt], published[attempt] = threading.Event(), threading.Event()
        threading.Thread(target=hang, args=(command,), daemon=True).start()
    elif command["kind"] == "run-query":
        head = {"attempt": attempt, "columns": ["a"], "types": ['"string"']}
        say("rows", **head, rows=[json.dumps([command["sql"]])], more=True)
        say("rows", **head, rows=[json.dumps([command["limit"]])])
    elif command["kind"] == "maintain":
        failed(attempt, command["by"])
    elif command["kind"] == "try-jobs":
        nothing: dict[str, Any] = {"reason": None, "error": None, "views": [], "outputs": []}
        jobs = [{**nothing, "name": job["name"], "sample": command["sample"]} for job in command["jobs"]]
        say("facts", attempt=attempt, data={"jobs": jobs})
    elif command["kind"] == "recover":
        keys = ("address", "depot", "namespace", "table")
        tables = [{key: table[key] for key in keys} for table in command["tables"]]
        say("facts", attempt=attempt, data={"tables": tables, "remove": command["remove"]})
    else:
        say("facts", attempt=attempt, data={key: command[key] for key in ("what", "depot", "dataset")})


def hang(command: dict[str, Any]) -> None:
    trace("hangs")
    with contextlib.suppress(Over):
        act(command, ["hang"])


def starts() -> int:
    with open(TRACE) as lines:  # noqa: PTH123 - quick to start is all that counts here
        return sum('"start"' in line for line in lines)


def start() -> None:
    trace("start")
    kind, _, times = os.environ.get("REFUSES", "").partition(" ")
    if kind and starts() <= int(times or sys.maxsize):
        failed(None, kind)
        sys.exit(1)
    say("preparing", message="getting ready")
    time.sleep(float(os.environ.get("STARTS_IN", "0")))
    say("ready", spark_version="0", application_id="scripted")


def heartbeats() -> None:
    """Say again and again that this engine is alive: one that is silent for long counts as lost."""
    while True:
        time.sleep(5.0)
        say("alive")


def main() -> None:
    threading.Thread(target=heartbeats, daemon=True).start()
    for line in sys.stdin:
        command = json.loads(line)
        kind = command["kind"]
        if kind == "start":
            start()
        elif kind == "run-job":
            cancelled[command["attempt"]] = threading.Event()
            published[command["attempt"]] = threading.Event()
            threading.Thread(target=run_job, args=(command,), daemon=True).start()
        elif kind == "cancel":
            cancelled[command["attempt"]].set()
            published[command["attempt"]].set()
        elif kind == "publish":
            published[command["attempt"]].set()
        elif kind == "stop":
            break
        else:
            answer(command)
    time.sleep(float(os.environ.get("STOPS_IN", "0")))
    trace("stop")
    os._exit(0)


if __name__ == "__main__":
    main()
