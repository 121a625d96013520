"""Every problem of a project file has a code and an exact place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from catchment import project
from catchment.cli import error_report
from catchment.errors import Diagnostic, InvalidFiles


@dataclass(frozen=True)
class Case:
    name: str
    text: str
    code: str
    line: int
    column: int
    hint: str = ""


PUBLISHED = "depots:\n  a: {kind: iceberg, location: .,"
MAINTAINED = "depots:\n  a: {kind: iceberg, location: .}\nmaintain:\n"

CASES = [
    Case("broken YAML", "depots: {lake: {kind: iceberg\n", "yaml-syntax", 1, 16),
    Case("empty", "# nothing yet\n", "empty-file", 1, 1),
    Case("a list", "- depots\n", "wrong-type", 1, 1),
    Case("duplicate key", "depots: {}\ndepots: {}\n", "duplicate-key", 2, 1),
    Case("unknown key", "depot: {}\n", "unknown-key", 1, 1, "did you mean `depots`?"),
    Case("unknown key of a depot", "depots:\n  a: {kind: files, location: ., loc: x}\n", "unknown-key", 2, 33),
    Case("depot without kind", "depots:\n  a:\n    location: .\n", "missing-field", 2, 3, "add `kind:` to `a`"),
    Case("depot without location", "depots:\n  a: {kind: files}\n", "missing-field", 2, 3),
    Case("tables without location", "depots:\n  a: {kind: iceberg}\n", "missing-field", 2, 3),
    Case("empty depot", "depots:\n  a:\n", "wrong-type", 2, 5),
    Case("depots as list", "depots:\n  - a\n", "wrong-type", 2, 3),
    Case(
        "misspelled kind", "depots:\n  a: {kind: icberg, location: .}\n", "bad-value", 2, 13, "did you mean `iceberg`?"
    ),
    Case("paimon without location", "depots:\n  a: {kind: paimon}\n", "missing-field", 2, 3),
    Case(
        "a catalog for Paimon",
        "depots:\n  a: {kind: paimon, location: ., catalog: {type: rest}}\n",
        "unsupported-catalog",
        *(2, 34),
        "write `type: filesystem or jdbc or hive`",
    ),
    Case(
        "a lock that no catalog of PostgreSQL has",
        "depots:\n  a: {kind: paimon, location: s3a://b/p, catalog: {type: jdbc, uri: 'jdbc:postgresql://h/d',\n"
        "    properties: {lock.enabled: true}}}\n",
        "lock-unsupported",
        *(3, 18),
    ),
    Case(
        "a lock that no directory has",
        "depots:\n  a: {kind: paimon, location: ., catalog: {type: filesystem, properties: {lock.enabled: true}}}\n",
        "lock-unsupported",
        *(2, 75),
    ),
    Case("a path as servers", "depots:\n  a: {kind: kafka, location: ./topics}\n", "bad-location", 2, 30),
    Case("a server without a port", "depots:\n  a: {kind: kafka, location: 'b:9092,c'}\n", "bad-location", 2, 30),
    Case("a port that is none", "depots:\n  a: {kind: kafka, location: 'b:99999'}\n", "bad-location", 2, 30),
    Case("servers of nobody", "depots:\n  a: {kind: kafka}\n", "missing-field", 2, 3),
    Case(
        "a setting that Kafka does not know",
        "depots:\n  a: {kind: kafka, location: 'b:9092', conf: {security.protokoll: SSL}}\n",
        "unsupported-option",
        *(2, 47),
        "did you mean `security.protocol`?",
    ),
    Case("jdbc", "depots:\n  a: {kind: jdbc}\n", "unsupported-depot-kind", 2, 13),
    Case("name of a depot", "depots:\n  my.lake: {kind: files, location: .}\n", "bad-depot-name", 2, 3),
    Case("Spark's own catalog", "depots:\n  spark_catalog: {kind: iceberg, location: .}\n", "bad-depot-name", 2, 3),
    Case("empty location", 'depots:\n  a: {kind: files, location: ""}\n', "bad-location", 2, 30),
    Case("location with NUL", 'depots:\n  a: {kind: files, location: "a\\0b"}\n', "bad-location", 2, 30),
    Case("files with a catalog", "depots:\n  a: {kind: files, location: ., catalog: {}}\n", "misplaced-key", 2, 33),
    Case(
        "a catalog for Delta", "depots:\n  a: {kind: delta, location: ., catalog: {}}\n", "unsupported-catalog", 2, 33
    ),
    Case(
        "two catalogs for Delta",
        "depots:\n"
        "  a: {kind: delta, location: a, catalog: {type: hive, uri: thrift://a:1}}\n"
        "  b: {kind: delta, location: b, catalog: {type: hive, uri: thrift://b:1}}\n",
        "catalogs-differ",
        3,
        33,
    ),
    Case(
        "two depots over one catalog",
        "depots:\n"
        "  a: {kind: iceberg, location: w, catalog: {type: rest, uri: http://c:1}}\n"
        "  b: {kind: iceberg, location: w, catalog: {type: rest, uri: http://c:1}}\n",
        "catalog-shared",
        3,
        3,
        "use the depot `a`",
    ),
    Case("Delta that is published", "depots:\n  a: {kind: delta, location: ., publish: b}\n", "misplaced-key", 2, 33),
    Case("files that are published", "depots:\n  a: {kind: files, location: ., publish: b}\n", "misplaced-key", 2, 33),
    Case("name of a published catalog", f"{PUBLISHED} publish: a.b}}\n", "bad-publish", 2, 44),
    Case("a published catalog like a depot", f"{PUBLISHED} publish: a}}\n", "bad-publish", 2, 44),
    Case(
        "published like another",
        f"{PUBLISHED} publish: c}}\n  b: {{kind: iceberg, location: ./b, publish: c}}\n",
        "bad-publish",
        3,
        46,
    ),
    *(
        Case(f"published beside {type}", text, "unsupported-publish", 2, column)
        for type, text, column in (
            ("rest", "depots:\n  a: {kind: iceberg, publish: b, catalog: {type: rest, uri: http://h}}\n", 31),
            ("hive", "depots:\n  a: {kind: iceberg, publish: b, catalog: {type: hive}}\n", 31),
            ("hadoop", f"{PUBLISHED} publish: b, catalog: {{type: hadoop}}}}\n", 44),
        )
    ),
    Case("catalog type", "depots:\n  a: {kind: iceberg, location: ., catalog: {type: glue}}\n", "bad-value", 2, 51),
    Case("rest without uri", "depots:\n  a: {kind: iceberg, catalog: {type: rest}}\n", "missing-field", 2, 22),
    Case(
        "jdbc uri", "depots:\n  a: {kind: iceberg, location: ., catalog: {uri: sqlite:x}}\n", "bad-catalog-uri", 2, 50
    ),
    Case(
        "uri of a hadoop catalog",
        "depots:\n  a: {kind: iceberg, location: ., catalog: {type: hadoop, uri: hdfs://x}}\n",
        "bad-catalog-uri",
        2,
        64,
    ),
    Case("another database", "metastore: mysql://h/db\n", "unsupported-metastore", 1, 12, "postgresql://"),
    Case("another name of PostgreSQL", "metastore: postgres://h/db\n", "bad-metastore", 1, 12, "postgresql://"),
    Case("a driver", "metastore: postgresql+psycopg://h/db\n", "bad-metastore", 1, 12, "postgresql://"),
    Case("no database", "metastore: postgresql://u:p@h\n", "bad-metastore", 1, 12),
    Case("no database after the slash", "metastore: postgresql://u:p@h/\n", "bad-metastore", 1, 12),
    Case("a path for a database", "metastore: postgresql://u:p@h/a/b\n", "bad-metastore", 1, 12),
    Case("port", "metastore: postgresql://u:p@h:x/db\n", "bad-metastore", 1, 12),
    Case("@ in a password", "metastore: postgresql://u:p@p@h/db\n", "bad-metastore", 1, 12, "%40"),
    Case("/ in a password", "metastore: postgresql://u:p/p@h/db\n", "bad-metastore", 1, 12, "%2F"),
    Case("# in a password", "metastore: postgresql://u:p#p@h/db\n", "bad-metastore", 1, 12, "%23"),
    Case("? in a password", "metastore: postgresql://u:p?p@h/db\n", "bad-metastore", 1, 12, "%3F"),
    Case("a space", "metastore: postgresql://u:p p@h/db\n", "bad-metastore", 1, 12),
    Case("no scheme", "metastore: u:p@h/db\n", "bad-metastore", 1, 12),
    Case("no room for writes", "settings: {max_pending: 0}\n", "bad-value", 1, 25, "it is at least 1"),
    Case("a wait that is no duration", "settings: {linger: soon}\n", "bad-duration", 1, 20),
    Case("a setting that is no number", "settings:\n  max_pending: many\n", "wrong-type", 2, 16),
    Case(
        "a setting that there is not",
        "settings: {max_pendin: 5}\n",
        "unknown-key",
        1,
        12,
        "did you mean `max_pending`?",
    ),
    Case("metastore in memory", "metastore: 'sqlite:///:memory:'\n", "bad-metastore", 1, 12),
    Case("no path", "metastore: sqlite://\n", "bad-metastore", 1, 12),
    Case("Spark line", "engines:\n  default: {spark: 3.3}\n", "unsupported-spark", 2, 20),
    Case("master", "engines:\n  default: {master: 'local[0]'}\n", "bad-master", 2, 21),
    Case("isolation", "engines:\n  default: {isolation: thread}\n", "bad-value", 2, 24),
    Case("package", "engines:\n  default: {packages: [a:b]}\n", "bad-package", 2, 24),
    Case("setting with a list", "engines:\n  default: {conf: {spark.x: [1]}}\n", "wrong-type", 2, 29),
    Case("name of an engine", "engines:\n  big/one: {}\n", "bad-engine-name", 2, 3),
    Case("unset variable", "metastore: sqlite:///${env:NO_SUCH}/m.db\n", "unset-variable", 1, 22),
    Case("missing file", "metastore: ${file:no/such/file}\n", "file-not-found", 1, 12),
    Case("directory for a file", "metastore: ${file:.}\n", "not-a-file", 1, 12),
    Case("bare reference", "metastore: sqlite:///${HOME}/m.db\n", "bad-reference", 1, 22, "${env:HOME}"),
    Case("reference without a name", "metastore: ${env:}\n", "bad-reference", 1, 12),
    Case("maintain of nothing", "maintain: {lak: {}}\n", "unknown-depot", 1, 12),
    Case("maintain of no table", MAINTAINED + "  'dataos://a:raw': {}\n", "no-dataset", 4, 3),
    Case("maintain of no address", MAINTAINED + "  'lake://a': {}\n", "bad-address", 4, 3),
    Case("maintain of what may only be read", MAINTAINED + "  'dataos://a:raw/t?acl=r': {}\n", "read-only-input", 4, 3),
    Case("one small file", MAINTAINED + "  a: {small_files: 1}\n", "bad-value", 4, 20, "it is at least 2"),
    Case("no file is that small", MAINTAINED + "  a: {small_file_size: 0}\n", "threshold-never-met", 4, 24),
    Case("a size that is none", MAINTAINED + "  a: {small_file_size: tiny}\n", "bad-value", 4, 24),
    Case("an age that is none", MAINTAINED + "  a: {age: old}\n", "bad-duration", 4, 12),
    Case("an unknown threshold", MAINTAINED + "  a: {smal_files: 5}\n", "unknown-key", 4, 7),
    Case("variable", "settings: {pass_environment: ['*']}\n", "bad-variable", 1, 31),
    Case("include path", "include_paths: ['s3a://bucket/sql']\n", "bad-include-path", 1, 17),
]


def problems(directory: Path, text: str, env: dict[str, str] | None = None) -> tuple[Diagnostic, ...]:
    (directory / "catchment.yaml").write_text(text)
    with pytest.raises(InvalidFiles) as caught:
        project.load(directory, env=env or {})
    return tuple(found for found in caught.value.diagnostics if found.is_error)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bad_project_file(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (found,) = problems(tmp_path, case.text)
    assert found.where is not None
    assert (found.code, found.where.line, found.where.column) == (case.code, case.line, case.column)
    assert found.where.file == "catchment.yaml"
    assert case.hint in (found.hint or "")


def test_all_problems_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = """\
metastore: ${env:NO_SUCH}
engines:
  default: {spark: "2.4", mastr: local}
depots:
  a: {kind: jdbc, location: .}
  b: {kind: iceberg, location: ., catalog: {type: rest}}
"""
    codes = [(found.code, found.where and found.where.line) for found in problems(tmp_path, text)]
    assert codes == [
        ("unset-variable", 1),
        ("unsupported-spark", 3),
        ("unknown-key", 3),
        ("unsupported-depot-kind", 5),
        ("missing-field", 6),
    ]


def test_a_location_is_no_secret(tmp_path: Path) -> None:
    text = "depots: {d: {kind: files, location: '/lake/${secret:X}'}}\n"
    (found,) = problems(tmp_path, text, {"X": "hunter2hunter2"})
    assert (found.code, found.where and found.where.column) == ("secret-in-name", 37)


def test_messages_do_not_tell_secrets(tmp_path: Path) -> None:
    text = "metastore: mysql://u:${secret:PASSWORD}@h/db\nengines: {default: {master: '${secret:PASSWORD}'}}\n"
    found = problems(tmp_path, text, {"PASSWORD": "hunter2hunter2"})
    assert [each.code for each in found] == ["unsupported-metastore", "bad-master"]
    assert "hunter2" not in "".join(each.message + str(each.hint) for each in found)
    assert "***" in found[1].message


@pytest.mark.parametrize(
    "written",
    [
        "mysql://u:{}@h/db",
        "postgresql://u:{}@h",
        "postgresql://u:{}@x@h/db",
        "postgresql://u:{}/x@h/db",
        "postgresql://u:{}#x@h/db",
        "postgresql://u:{} x@h/db",
        "postgres://u:{}@h/db",
        "u:{}@h/db",
    ],
)
def test_a_password_in_a_bad_address_is_shown_neither_in_the_message_nor_in_the_line(
    written: str, tmp_path: Path
) -> None:
    found = problems(tmp_path, f"metastore: {written.format('pw7')}\n")
    assert "pw7" not in error_report.diagnostics_text(found)
    assert "1 | metastore: " in error_report.diagnostics_text(found)
