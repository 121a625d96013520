"""The options of Spark's readers and writers of plain files, as Spark spells them."""

from __future__ import annotations

from collections.abc import Collection

_TEXT = frozenset({"encoding", "charset", "lineSep", "locale", "dateFormat", "timestampFormat", "timestampNTZFormat"})
_CSV = _TEXT | {
    *("sep", "delimiter", "quote", "escape", "charToEscapeQuoteEscaping", "header", "comment", "nullValue"),
    *("emptyValue", "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace"),
}
_AVRO = frozenset({"avroSchema", "positionalFieldMatching"})
_SETTINGS = {"avro": frozenset({"avro.*"}), "orc": frozenset({"orc.*"}), "parquet": frozenset({"parquet.*"})}
"""Names with a dot are Hadoop settings that the library of a format reads, such as `parquet.block.size`."""

_WRITTEN = {
    "json": _TEXT | {"ignoreNullFields", "pretty", "writeNonAsciiCharacterAsCodePoint"},
    "csv": _CSV | {"quoteAll", "escapeQuotes", "codec"},
    "avro": _AVRO | {"recordName", "recordNamespace"},
    "text": frozenset({"lineSep"}),
}
_PARSED = frozenset(
    {"mode", "columnNameOfCorruptRecord", "multiLine", "samplingRatio", "enableDateTimeParsingFallback"}
)
_READ = {
    "json": _TEXT
    | _PARSED
    | {
        *("primitivesAsString", "prefersDecimal", "inferTimestamp", "dropFieldIfAllNull", "allowComments"),
        *("allowUnquotedFieldNames", "allowSingleQuotes", "allowNumericLeadingZeros", "allowNonNumericNumbers"),
        *("allowBackslashEscapingAnyCharacter", "allowUnquotedControlChars"),
    },
    "csv": _CSV
    | _PARSED
    | {
        *("inferSchema", "enforceSchema", "preferDate", "columnPruning", "unescapedQuoteHandling", "inputBufferSize"),
        *("maxColumns", "maxCharsPerColumn", "nanValue", "positiveInf", "negativeInf"),
    },
    "avro": _AVRO | {"avroSchemaUrl", "ignoreExtension", "datetimeRebaseMode", "enableStableIdentifiersForUnionType"},
    "orc": frozenset({"mergeSchema"}),
    "parquet": frozenset({"mergeSchema", "datetimeRebaseMode", "int96RebaseMode"}),
    "text": frozenset({"lineSep", "wholetext", "encoding"}),
}
_READ_SINCE_4 = {
    "json": frozenset({"singleVariantColumn"}),
    "csv": frozenset({"singleVariantColumn"}),
    "avro": frozenset({"recursiveFieldMaxDepth", "stableIdentifierPrefixForUnionType"}),
}
_READ_FROM_FILES = frozenset(
    {
        *("pathGlobFilter", "recursiveFileLookup", "basePath", "modifiedBefore", "modifiedAfter", "timeZone"),
        *("ignoreCorruptFiles", "ignoreMissingFiles"),
    }
)
_NONE: frozenset[str] = frozenset()


def write_options(format: str, mode: str, commit: str) -> frozenset[str]:
    """The options of Spark's writer of one format."""
    return _WRITTEN.get(format, _NONE) | _SETTINGS.get(format, _NONE) | {"compression", "maxRecordsPerFile", "timeZone"}


def read_options(format: str, spark: str, given: Collection[str]) -> frozenset[str]:
    """The options of Spark's reader of one format."""
    newer = _NONE if spark.startswith("3.") else _READ_SINCE_4.get(format, _NONE)
    return _READ_FROM_FILES | _READ[format] | _SETTINGS.get(format, _NONE) | newer


def stream_options(format: str, spark: str) -> frozenset[str]:
    """The options of a stream of files, without those that move or delete files that were read."""
    limits = {"maxFilesPerTrigger", "maxBytesPerTrigger", "maxCachedFiles", "discardCachedInputRatio"}
    return read_options(format, spark, ()) | {"latestFirst", "maxFileAge", "fileNameOnly", *limits}
