package catchment.iceberg;

import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStreamWriter;
import java.io.StringWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.BaseTransaction;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.ContentFileParser;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.ExpireSnapshots;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.LocationProviders;
import org.apache.iceberg.OverwriteFiles;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.ReplacePartitions;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotParser;
import org.apache.iceberg.SnapshotUpdate;
import org.apache.iceberg.StaticTableOperations;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.Transaction;
import org.apache.iceberg.Transactions;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.encryption.EncryptionManager;
import org.apache.iceberg.encryption.PlaintextEncryptionManager;
import org.apache.iceberg.relocated.com.google.common.util.concurrent.MoreExecutors;
import org.apache.iceberg.shaded.com.fasterxml.jackson.core.JsonGenerator;
import org.apache.iceberg.shaded.com.fasterxml.jackson.core.JsonParser;
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode;
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.ObjectReader;
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.iceberg.spark.FileRewriteCoordinator;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.spark.SparkTableCache;
import org.apache.iceberg.util.JsonUtil;

/**
 * What every write needs from Iceberg, each in one call. Compiled by Janino: no generics.
 *
 * A call from Python takes a tenth of a millisecond. If it returns an object, Python makes another call when it
 * releases the object. Step by step, a write of one row needed two hundred calls. Nothing is decided here: the order of
 * the steps and the handling of failures are in Python.
 */
public final class Tables {
    private Tables() {}

    /** Thrown if a partition value does not survive a round trip through JSON. */
    public static final class Unstorable extends RuntimeException {
        public Unstorable(String message) {
            super(message);
        }
    }

    /** The current state of a table of a catalog. */
    public static Table load(Catalog catalog, String name) {
        return catalog.loadTable(TableIdentifier.parse(name));
    }

    /** Load what others have committed to a table; returns what is current then. */
    public static TableMetadata refresh(Table table) {
        table.refresh();
        return current(table);
    }

    /** Expires snapshots of a table and removes the files that only they need; returns how many files that were. */
    public static int expire(final Table table, String snapshots, int threads) {
        final AtomicInteger removed = new AtomicInteger();
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            ExpireSnapshots expiry = table.expireSnapshots();
            expiry.expireOlderThan(0L); // expire nothing by age
            expiry.executeDeleteWith(pool);
            expiry.deleteWith(new Consumer() {
                public void accept(Object path) {
                    table.io().deleteFile((String) path);
                    removed.incrementAndGet();
                }
            });
            String[] ids = snapshots.split(",");
            for (int index = 0; index < ids.length; index++) {
                expiry.expireSnapshotId(Long.parseLong(ids[index]));
            }
            expiry.commit();
        } finally {
            pool.shutdown();
        }
        return removed.get();
    }

    /** What a write needs to know about a table and the head of one of its branches, as JSON. */
    public static String state(Table table, String branch) throws IOException {
        TableMetadata now = current(table);
        Snapshot head = head(table, branch);
        ObjectNode state = JsonUtil.mapper().createObjectNode();
        state.put("uuid", now.uuid());
        state.put("format_version", now.formatVersion());
        state.put("schema_id", now.currentSchemaId());
        state.put("sequence", now.lastSequenceNumber());
        if (head != null) {
            state.put("head", head.snapshotId());
        }
        state.put("location", now.location());
        ObjectNode properties = state.putObject("properties");
        for (Iterator all = now.properties().entrySet().iterator(); all.hasNext();) {
            Map.Entry each = (Map.Entry) all.next();
            properties.put((String) each.getKey(), (String) each.getValue());
        }
        return JsonUtil.mapper().writeValueAsString(state);
    }

    /** The columns of a table as Spark's JSON. */
    public static String schema(Table table) {
        return SparkSchemaUtil.convert(table.schema()).json();
    }

    /** The partition fields of a table as JSON. */
    public static String partitionFields(Table table) throws IOException {
        ArrayNode fields = JsonUtil.mapper().createArrayNode();
        for (Iterator all = table.spec().fields().iterator(); all.hasNext();) {
            PartitionField field = (PartitionField) all.next();
            ObjectNode each = fields.addObject();
            each.put("transform", field.transform().toString());
            each.put("column", table.schema().findColumnName(field.sourceId()));
            each.put("name", field.name());
            each.put("type", String.valueOf(table.schema().findType(field.sourceId())));
        }
        return JsonUtil.mapper().writeValueAsString(fields);
    }

    /**
     * A private view of a table whose data files go to another directory; Spark finds it by its name. Its files are
     * encrypted if those of the table are.
     */
    public static Table fork(Table table, String name, String directory) {
        TableMetadata now = current(table);
        Map properties = new HashMap(now.properties());
        properties.put("write.data.path", directory);
        final EncryptionManager encryption = table.encryption();
        StaticTableOperations operations = new StaticTableOperations(
                now, table.io(), LocationProviders.locationsFor(now.location(), properties)) {
            public EncryptionManager encryption() {
                return encryption;
            }
        };
        Table fork = new BaseTable(operations, "fork-" + name);
        SparkTableCache.get().add(name, fork);
        return fork;
    }

    /** Whether the catalog of a table encrypts its files. */
    public static boolean encrypts(Table table) {
        return !(table.encryption() instanceof PlaintextEncryptionManager);
    }

    /** Remove a fork from Spark's cache. */
    public static void removeFork(String name) {
        SparkTableCache.get().remove(name);
    }

    /** The files that Spark has written to a fork; they can be taken once. */
    public static List takeFiles(Table fork, String name) {
        FileRewriteCoordinator written = FileRewriteCoordinator.get();
        try {
            return new ArrayList(written.fetchNewFiles(fork, name));
        } finally {
            written.clearRewrite(fork, name);
        }
    }

    /**
     * Write Iceberg's JSON of data files to a local file, one per line, after checking that Iceberg reads it back.
     *
     * NaN and infinity are written as numbers: strict JSON would need strings, which Iceberg does not accept.
     */
    public static void describe(List files, Table table, String path) throws IOException {
        ObjectReader reader = reader();
        Writer lines = new OutputStreamWriter(new FileOutputStream(path), StandardCharsets.UTF_8);
        try {
            for (Iterator all = files.iterator(); all.hasNext();) {
                ContentFile file = (ContentFile) all.next();
                String line = asJson(file, table);
                check(line, reader, table);
                lines.append(line).append("\n");
            }
        } finally {
            lines.close();
        }
    }

    private static String asJson(ContentFile file, Table table) throws IOException {
        StringWriter line = new StringWriter();
        JsonGenerator generator = JsonUtil.factory().createGenerator(line);
        generator.disable(JsonGenerator.Feature.QUOTE_NON_NUMERIC_NUMBERS);
        ContentFileParser.toJson(file, (PartitionSpec) table.specs().get(new Integer(file.specId())), generator);
        generator.close();
        return line.toString();
    }

    /** Throw if a description is read back as a different partition. */
    private static void check(String line, ObjectReader reader, Table table) throws IOException {
        JsonNode written = reader.readTree(line);
        ContentFile again;
        try {
            again = ContentFileParser.fromJson(written, table.specs());
        } catch (RuntimeException error) {
            throw new Unstorable(error.getMessage());
        }
        // Compared as text: NaN does not equal itself, and 0.0 equals -0.0, although they are different partitions.
        String before = String.valueOf(written.get("partition"));
        String after = String.valueOf(reader.readTree(asJson(again, table)).get("partition"));
        if (!before.equals(after)) {
            throw new Unstorable(before + " is read back as " + after);
        }
    }

    /** The length of a file in the store of a table. */
    public static long length(Table table, String file) {
        return table.io().newInputFile(file).getLength();
    }

    /** Add the data files of a JSON array to an operation. */
    public static void addFiles(SnapshotUpdate operation, String array, Table table) throws IOException {
        addAll(operation, reader().readTree(array), table);
    }

    /** Add the data files of a JSON array in a local file to an operation. */
    public static void addFilesOf(SnapshotUpdate operation, String path, Table table) throws IOException {
        InputStream array = new FileInputStream(path);
        try {
            addAll(operation, reader().readTree(array), table);
        } finally {
            array.close();
        }
    }

    private static void addAll(SnapshotUpdate operation, JsonNode files, Table table) {
        for (Iterator all = files.iterator(); all.hasNext();) {
            DataFile file = (DataFile) ContentFileParser.fromJson((JsonNode) all.next(), table.specs());
            if (operation instanceof AppendFiles) {
                ((AppendFiles) operation).appendFile(file);
            } else if (operation instanceof OverwriteFiles) {
                ((OverwriteFiles) operation).addFile(file);
            } else {
                ((ReplacePartitions) operation).addFile(file);
            }
        }
    }

    /** The partitions of the data files of a JSON array, one per line. */
    public static String partitionsOf(String array, Table table) throws IOException {
        StringBuilder lines = new StringBuilder();
        for (Iterator all = reader().readTree(array).iterator(); all.hasNext();) {
            ContentFile file = (ContentFile) ContentFileParser.fromJson((JsonNode) all.next(), table.specs());
            lines.append(partition(file, table)).append("\n");
        }
        return lines.toString();
    }

    /** The partition of a data file: the number of its spec, and its values. */
    public static String partition(ContentFile file, Table table) {
        PartitionSpec spec = (PartitionSpec) table.specs().get(new Integer(file.specId()));
        return file.specId() + ":" + spec.partitionToPath(file.partition());
    }

    /** A transaction on the metadata that was checked; null if others have committed since. */
    public static Transaction begin(Table table, TableMetadata lookedAt) {
        // Iceberg loads the table again here. What was found in old metadata proves nothing about newer metadata.
        BaseTable known = (BaseTable) table;
        Transaction transaction =
                Transactions.newTransaction(table.name(), KeptLists.of(known.operations()), known.reporter());
        TableMetadata start = ((BaseTransaction) transaction).startMetadata();
        String place = start.metadataFileLocation();
        boolean same = start.equals(lookedAt) || (place != null && place.equals(lookedAt.metadataFileLocation()));
        return same ? transaction : null;
    }

    /** An append to a branch; it merges manifests if there are more than `mergeAt`, to keep planning fast. */
    public static AppendFiles append(Transaction transaction, Table table, String branch, int mergeAt) {
        Snapshot head = head(table, branch);
        if (head != null && number(head, "manifests-created") + number(head, "manifests-kept") > mergeAt) {
            return transaction.newAppend();
        }
        // There is only one file to write, and Iceberg polls other threads for it every 10 ms.
        return (AppendFiles) transaction.newFastAppend().scanManifestsWith(MoreExecutors.newDirectExecutorService());
    }

    private static int number(Snapshot snapshot, String key) {
        String text = (String) snapshot.summary().get(key);
        return text == null ? 0 : Integer.parseInt(text);
    }

    /** Commit an operation to a branch within its transaction, with these entries in its summary. */
    public static void stage(SnapshotUpdate operation, String branch, String summary) throws IOException {
        if (!branch.equals("main")) {
            operation.toBranch(branch);
        }
        for (Iterator all = JsonUtil.mapper().readTree(summary).fields(); all.hasNext();) {
            Map.Entry each = (Map.Entry) all.next();
            operation.set((String) each.getKey(), ((JsonNode) each.getValue()).asText());
        }
        operation.commit();
    }

    /** One compare-and-swap, without Iceberg's blind retries. */
    public static void swap(Transaction transaction) {
        BaseTransaction staged = (BaseTransaction) transaction;
        staged.underlyingOps().commit(staged.startMetadata(), staged.currentMetadata());
    }

    /** The snapshots that a transaction adds, one per line: the id, and the summary entry with this key. */
    public static String added(Transaction transaction, String key) {
        BaseTransaction staged = (BaseTransaction) transaction;
        List snapshots = staged.currentMetadata().snapshots();
        StringBuilder lines = new StringBuilder();
        for (int place = staged.startMetadata().snapshots().size(); place < snapshots.size(); place++) {
            Snapshot each = (Snapshot) snapshots.get(place);
            lines.append(each.snapshotId()).append(" ").append(each.summary().get(key)).append("\n");
        }
        return lines.toString();
    }

    /** The number of snapshots of a table; -1 if the one before index `end` is no longer `last`. */
    public static int countSnapshots(Table table, int end, long last) {
        List snapshots = current(table).snapshots();
        boolean same = end == 0 || (end <= snapshots.size() && ((Snapshot) snapshots.get(end - 1)).snapshotId() == last);
        return same ? snapshots.size() : -1;
    }

    /** The index of the first snapshot before `end` that is after a sequence number or from a time on; both grow. */
    public static int firstSnapshot(Table table, int end, long sequence, long millis) {
        List snapshots = current(table).snapshots();
        int low = 0;
        int high = end;
        while (low < high) {
            int middle = (low + high) / 2;
            Snapshot each = (Snapshot) snapshots.get(middle);
            if (each.sequenceNumber() > sequence || each.timestampMillis() >= millis) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }

    /** One snapshot as JSON of the table spec. */
    public static String snapshot(Table table, int place) {
        return SnapshotParser.toJson((Snapshot) current(table).snapshots().get(place), false);
    }

    /** Write snapshots as JSON of the table spec to a local file, one per line. */
    public static void snapshots(Table table, int first, int end, String path) throws IOException {
        Writer lines = new OutputStreamWriter(new FileOutputStream(path), StandardCharsets.UTF_8);
        try {
            for (int place = first; place < end; place++) {
                lines.append(snapshot(table, place)).append("\n");
            }
        } finally {
            lines.close();
        }
    }

    private static TableMetadata current(Table table) {
        return ((HasTableOperations) table).operations().current();
    }

    private static Snapshot head(Table table, String branch) {
        return branch.equals("main") ? table.currentSnapshot() : table.snapshot(branch);
    }

    /** A JSON reader that accepts NaN and infinity as numbers. */
    private static ObjectReader reader() {
        return JsonUtil.mapper().reader().with(JsonParser.Feature.ALLOW_NON_NUMERIC_NUMBERS);
    }
}
