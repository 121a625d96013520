package catchment.paimon;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.sql.SQLNonTransientConnectionException;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;

import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.paimon.Snapshot;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.DelegateCatalog;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.client.ClientPool;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.fs.FileIO;
import org.apache.paimon.fs.FileStatus;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataFilePathFactory;
import org.apache.paimon.io.DataInputViewStreamWrapper;
import org.apache.paimon.io.DataOutputViewStreamWrapper;
import org.apache.paimon.jdbc.JdbcCatalog;
import org.apache.paimon.jdbc.JdbcClientPool;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.operation.FileStoreCommit;
import org.apache.paimon.operation.Lock;
import org.apache.paimon.schema.SchemaManager;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.spark.SparkTypeUtils;
import org.apache.paimon.spark.commands.PaimonSparkWriter;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.CommitMessageSerializer;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.source.ScanMode;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeRoot;
import org.apache.paimon.types.RowType;
import org.apache.paimon.utils.InternalRowUtils;
import org.apache.paimon.utils.SnapshotManager;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/**
 * Commits to a Paimon table with one compare-and-swap, and reads its history. Compiled by Janino: no generics.
 *
 * Paimon retries a commit for as long as others commit first, without checking whether one of those commits was its
 * own. The lock that Paimon takes around each swap is the place to prevent that: ours lets a swap pass only if the
 * newest snapshot is still the one in which the caller has looked up its writes.
 */
public final class Commits {
    private Commits() {}

    /** Thrown if the newest snapshot is not the one that the caller knows. Nothing was committed. */
    public static final class Moved extends RuntimeException {
        public Moved(String message) {
            super(message);
        }
    }

    /** The lock of the table's catalog, with the check of the newest snapshot inside it. */
    static final class Guard implements Lock {
        private final SnapshotManager snapshots;
        private final Lock inner;
        private final long base;
        private final String manifests;

        Guard(SnapshotManager snapshots, Lock inner, long base, String manifests) {
            this.snapshots = snapshots;
            this.inner = inner;
            this.base = base;
            this.manifests = manifests;
        }

        public Object runWithLock(final Callable swap) throws Exception {
            return inner.runWithLock(new Callable() {
                public Object call() throws Exception {
                    Snapshot newest = snapshots.latestSnapshot();
                    long id = newest == null ? 0L : newest.id();
                    if (id != base || (newest != null && !newest.deltaManifestList().equals(manifests))) {
                        throw new Moved("snapshot " + id + " is there, and not snapshot " + base);
                    }
                    return swap.call();
                }
            });
        }

        public void close() throws Exception {
            inner.close();
        }
    }

    /** Local files. A rename fails if the name is taken, even across processes; Paimon's own replaces the file. */
    public static final class LinkingFileIO extends LocalFileIO {
        public boolean rename(Path from, Path to) throws IOException {
            File source = toFile(from);
            File target = toFile(to);
            if (source.isDirectory()) {
                return super.rename(from, to);
            }
            target.getParentFile().mkdirs();
            try {
                Files.createLink(target.toPath(), source.toPath());
            } catch (FileAlreadyExistsException taken) {
                return false;
            }
            source.delete();
            return true;
        }

        /** Tasks only write data files and do not need this class. */
        private Object writeReplace() {
            return new LocalFileIO();
        }
    }

    /** A catalog whose tables are prepared for a compaction; everything else is passed on to the catalog itself. */
    static final class CompactingCatalog implements InvocationHandler {
        private final Catalog inner;
        private final long files;
        private final String user;
        private final String gate;

        CompactingCatalog(Catalog inner, long files, String user, String gate) {
            this.inner = inner;
            this.files = files;
            this.user = user;
            this.gate = gate;
        }

        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            Object answer;
            try {
                answer = method.invoke(inner, arguments);
            } catch (InvocationTargetException thrown) {
                throw thrown.getCause();
            }
            return answer instanceof FileStoreTable ? compacting((FileStoreTable) answer, files, user, gate) : answer;
        }
    }

    /**
     * Makes a Spark catalog return tables for compaction until `restore`; returns its inner catalog. Paimon's procedure
     * commits by itself: on a local disk it would replace a snapshot that others have just written, and it would expire
     * snapshots that others need. In a table without a key, `files` small files become one. The name of the commit user
     * begins with `user`. If a gate is named, swaps wait there.
     */
    public static Object guard(Object sparkCatalog, long files, String user, String gate) throws Exception {
        Field field = sparkCatalog.getClass().getDeclaredField("catalog");
        field.setAccessible(true);
        Object before = field.get(sparkCatalog);
        Class[] kinds = new Class[] {Catalog.class};
        InvocationHandler handler = new CompactingCatalog((Catalog) before, files, user, gate);
        field.set(sparkCatalog, Proxy.newProxyInstance(Catalog.class.getClassLoader(), kinds, handler));
        return before;
    }

    /** Restores the inner catalog of a Spark catalog. */
    public static void restore(Object sparkCatalog, Object before) throws Exception {
        Field field = sparkCatalog.getClass().getDeclaredField("catalog");
        field.setAccessible(true);
        field.set(sparkCatalog, before);
    }

    private static FileStoreTable compacting(FileStoreTable table, long files, String user, String gate) {
        FileStoreTable own = linking(table);
        if (gate != null) {
            own = FileStoreTableFactory.create(
                    own.fileIO(), own.location(), own.schema(), GatedLocks.in(own.catalogEnvironment(), gate));
        }
        Map options = new HashMap();
        options.put("snapshot.num-retained.min", String.valueOf(Integer.MAX_VALUE));
        options.put("snapshot.num-retained.max", String.valueOf(Integer.MAX_VALUE));
        // Paimon leaves fewer files alone; the request for a compaction has already decided that it is worthwhile.
        options.put("compaction.max.file-num", String.valueOf(files));
        options.put("commit.user-prefix", user);
        return own.copy(options);
    }

    private static FileStoreTable linking(FileStoreTable table) {
        if (table.fileIO().getClass() != LocalFileIO.class) {
            return table;
        }
        return FileStoreTableFactory.create(
                new LinkingFileIO(), table.location(), table.schema(), table.catalogEnvironment());
    }

    /** Fails once, in a way that makes the pool replace its connection. */
    static final class Reconnection implements ClientPool.Action {
        private boolean done;

        public Object run(Object connection) throws Exception {
            if (!done) {
                done = true;
                throw new SQLNonTransientConnectionException("connects anew");
            }
            return null;
        }
    }

    /**
     * Makes a catalog on SQLite reconnect. When it is opened, it looks for its own tables and leaves that query open.
     * Its connection would see the database as it was then forever, and could no longer write once others have.
     */
    public static void reconnect(Catalog catalog) throws Exception {
        Catalog inner = catalog;
        while (inner instanceof DelegateCatalog) {
            inner = ((DelegateCatalog) inner).wrapped();
        }
        if (inner instanceof JdbcCatalog) {
            JdbcClientPool connections = ((JdbcCatalog) inner).getConnections();
            if (connections.getProtocol().equals("sqlite")) {
                connections.run(new Reconnection());
            }
        }
    }

    /** The current state of a table. */
    public static Table load(Catalog catalog, String database, String name) throws Exception {
        return catalog.getTable(Identifier.create(database, name));
    }

    /** The table for commits: it neither compacts nor expires, and refuses a second snapshot with the same number. */
    public static FileStoreTable committing(FileStoreTable table) {
        return linking(table).copy(Collections.singletonMap("write-only", "true"));
    }

    /**
     * Commits as the snapshot after `base` and returns its number; throws Moved if `base` is no longer the newest one.
     * A fence changes nothing, but after it nobody can commit on the same base.
     */
    public static long commit(
            FileStoreTable table,
            String user,
            long identifier,
            List messages,
            String mode,
            long base,
            String manifests) throws Exception {
        FileStoreTable own = table.copy(
                Collections.singletonMap("dynamic-partition-overwrite", String.valueOf(!mode.equals("overwrite"))));
        TableCommitImpl whole = own.newCommit(user);
        try {
            Guard guard = new Guard(own.snapshotManager(), (Lock) field(whole, "lock"), base, manifests);
            FileStoreCommit commit = ((FileStoreCommit) field(whole, "commit")).withLock(guard);
            ManifestCommittable committable = new ManifestCommittable(identifier);
            for (Iterator all = messages.iterator(); all.hasNext();) {
                committable.addFileCommittable((CommitMessage) all.next());
            }
            if (mode.startsWith("overwrite")) {
                commit.overwrite(Collections.emptyMap(), committable, Collections.emptyMap());
            } else {
                commit.ignoreEmptyCommit(!mode.equals("fence")).commit(committable, Collections.emptyMap(), false);
            }
        } finally {
            whole.close();
        }
        return base + 1;
    }

    private static Object field(Object of, String name) throws Exception {
        Field field = of.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(of);
    }

    /**
     * Writes the rows that a DELETE or MERGE changes in a table with a primary key; returns the packed commit messages.
     * The plan is the analyzed statement, which would commit if it were run as it is.
     */
    public static String change(SparkSession session, Object plan) throws Exception {
        if (plan.getClass().getSimpleName().startsWith("Delete")) {
            return pack(JavaConverters.seqAsJavaList((Seq) call(plan, "performPrimaryKeyDelete", session)));
        }
        call(plan, "checkMatchRationality", session);
        return pack(JavaConverters.seqAsJavaList((Seq) call(plan, "performMergeForPkTable", session)));
    }

    /**
     * A parsed MERGE in which every clause may use the table's alias. Paimon looks for some columns below the alias, so
     * the alias is repeated there.
     */
    public static LogicalPlan aliased(LogicalPlan parsed) {
        if (!(parsed instanceof MergeIntoTable)) {
            return parsed;
        }
        MergeIntoTable merge = (MergeIntoTable) parsed;
        SubqueryAlias known = (SubqueryAlias) merge.targetTable();
        LogicalPlan target = new SubqueryAlias(known.identifier(), known);
        List children = Arrays.asList(new Object[] {target, merge.sourceTable()});
        return (LogicalPlan) merge.withNewChildren(JavaConverters.asScalaBuffer(children).toList());
    }

    private static Object call(Object of, String name, SparkSession session) throws Exception {
        Method method = of.getClass().getDeclaredMethod(name, new Class[] {SparkSession.class});
        method.setAccessible(true);
        try {
            return method.invoke(of, new Object[] {session});
        } catch (InvocationTargetException failed) {
            throw failed.getCause() instanceof Exception ? (Exception) failed.getCause() : failed;
        }
    }

    /** Whether a table has nothing but its first schema: no snapshot, and no file that another write may commit. */
    public static boolean isBlank(FileStoreTable table) throws IOException {
        return hasOnly(table.fileIO(), table.location(), "schema-0");
    }

    /**
     * Removes the schema that an interrupted creation has left behind: the catalog does not know the table, but refuses
     * to create it again. The caller must hold the creation lease and have found that there is no such table.
     */
    public static void sweep(Catalog catalog, String database, String name) throws IOException {
        Path location = catalog.getTableLocation(Identifier.create(database, name));
        if (catalog.fileIO().exists(location) && hasOnly(catalog.fileIO(), location, "schema-0")) {
            catalog.fileIO().delete(location, true);
        }
    }

    private static boolean hasOnly(FileIO files, Path directory, String name) throws IOException {
        FileStatus[] found = files.listStatus(directory);
        for (int at = 0; at < found.length; at++) {
            Path path = found[at].getPath();
            if (found[at].isDir() ? !hasOnly(files, path, name) : !path.getName().equals(name)) {
                return false;
            }
        }
        return true;
    }

    /** Facts about a table, as JSON. */
    public static String describe(FileStoreTable table) throws IOException {
        TableSchema schema = table.schema();
        TableSchema first =
                schema.id() == 0L ? schema : new SchemaManager(table.fileIO(), table.location()).schema(0L);
        Map facts = new HashMap();
        facts.put("created", Long.valueOf(first.timeMillis()));
        facts.put("location", table.location().toString());
        facts.put("keys", table.primaryKeys());
        facts.put("partitions", table.partitionKeys());
        facts.put("options", schema.options());
        facts.put("columns", SparkTypeUtils.fromPaimonRowType(table.rowType()).json());
        facts.put("schema", Long.valueOf(schema.id()));
        facts.put("buckets", table.bucketMode().toString());
        facts.put("lock", table.catalogEnvironment().lockFactory().getClass().getSimpleName());
        return new ObjectMapper().writeValueAsString(facts);
    }

    /** The newest snapshot as JSON; null if there is none. */
    public static String newest(FileStoreTable table) {
        Snapshot found = table.snapshotManager().latestSnapshot();
        return found == null ? null : found.toJson();
    }

    /** Writes rows as files that nothing refers to yet, without compaction; returns the packed commit messages. */
    public static String write(FileStoreTable table, Dataset rows) throws IOException {
        return pack(JavaConverters.seqAsJavaList(new PaimonSparkWriter(table).writeOnly().write(rows)));
    }

    /**
     * Commit messages as text that any engine can read: rows, bytes and number of the new files, the version of the
     * serializer, and the messages, separated by spaces.
     */
    private static String pack(List messages) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        CommitMessageSerializer serializer = new CommitMessageSerializer();
        serializer.serializeList(messages, new DataOutputViewStreamWrapper(bytes));
        String text = Base64.getEncoder().encodeToString(bytes.toByteArray());
        return sums(messages) + " " + serializer.getVersion() + " " + text;
    }

    /** The messages of several writers; each line has the version of the serializer, a space, and the text. */
    public static List unpack(String lines) throws IOException {
        List found = new ArrayList();
        String[] each = lines.isEmpty() ? new String[0] : lines.split("\n");
        for (int at = 0; at < each.length; at++) {
            String[] parts = each[at].split(" ");
            byte[] bytes = Base64.getDecoder().decode(parts[1]);
            found.addAll(new CommitMessageSerializer().deserializeList(
                    Integer.parseInt(parts[0]), new DataInputViewStreamWrapper(new ByteArrayInputStream(bytes))));
        }
        return found;
    }

    private static String sums(List messages) {
        long rows = 0;
        long bytes = 0;
        long files = 0;
        for (Iterator all = newFiles(messages).iterator(); all.hasNext();) {
            DataFileMeta file = (DataFileMeta) all.next();
            rows += file.rowCount();
            bytes += file.fileSize();
            files += 1;
        }
        return rows + " " + bytes + " " + files;
    }

    private static List newFiles(List messages) {
        List found = new ArrayList();
        for (Iterator all = messages.iterator(); all.hasNext();) {
            found.addAll(((CommitMessageImpl) all.next()).newFilesIncrement().newFiles());
        }
        return found;
    }

    /** The first of the new files that is not in the store; null if all are. */
    public static String missing(FileStoreTable table, List messages) throws IOException {
        for (Iterator all = messages.iterator(); all.hasNext();) {
            CommitMessageImpl message = (CommitMessageImpl) all.next();
            DataFilePathFactory paths =
                    table.store().pathFactory().createDataFilePathFactory(message.partition(), message.bucket());
            for (Iterator files = message.newFilesIncrement().newFiles().iterator(); files.hasNext();) {
                Path path = paths.toPath(((DataFileMeta) files.next()).fileName());
                if (!table.fileIO().exists(path)) {
                    return path.toString();
                }
            }
        }
        return null;
    }

    /** Whether the newest snapshot has one of the new files. */
    public static boolean live(FileStoreTable table, List messages) {
        Set names = new HashSet();
        for (Iterator all = newFiles(messages).iterator(); all.hasNext();) {
            names.add(((DataFileMeta) all.next()).fileName());
        }
        for (Iterator all = table.store().newScan().plan().files().iterator(); all.hasNext();) {
            if (names.contains(((ManifestEntry) all.next()).file().fileName())) {
                return true;
            }
        }
        return false;
    }

    /** The data files of the newest snapshot, as JSON: rows, bytes, level, creation millis, format, path and partition. */
    public static String files(FileStoreTable table) throws IOException {
        RowType partitioned = table.schema().logicalPartitionType();
        List files = new ArrayList();
        for (Iterator all = table.store().newScan().plan().files().iterator(); all.hasNext();) {
            ManifestEntry entry = (ManifestEntry) all.next();
            DataFileMeta file = entry.file();
            Path path = table.store()
                    .pathFactory()
                    .createDataFilePathFactory(entry.partition(), entry.bucket())
                    .toPath(file.fileName());
            List facts = new ArrayList();
            facts.add(Long.valueOf(file.rowCount()));
            facts.add(Long.valueOf(file.fileSize()));
            facts.add(Integer.valueOf(file.level()));
            facts.add(Long.valueOf(file.creationTimeEpochMillis()));
            facts.add(file.fileFormat());
            facts.add(path.toString());
            facts.add(values(partitioned, entry.partition()));
            files.add(facts);
        }
        return new ObjectMapper().writeValueAsString(files);
    }

    /** The values of a partition as text. The names of directories do not tell them: that of a date is a number. */
    private static Map values(RowType partitioned, BinaryRow partition) {
        Map values = new LinkedHashMap();
        for (int at = 0; at < partitioned.getFieldCount(); at++) {
            DataType type = partitioned.getTypeAt(at);
            Object value = InternalRowUtils.get(partition, at, type);
            values.put(partitioned.getFieldNames().get(at), value == null ? null : text(value, type.getTypeRoot()));
        }
        return values;
    }

    private static String text(Object value, DataTypeRoot type) {
        if (type == DataTypeRoot.DATE) {
            return LocalDate.ofEpochDay(((Integer) value).longValue()).toString();
        }
        return type == DataTypeRoot.TIMESTAMP_WITH_LOCAL_TIME_ZONE ? value + "Z" : value.toString();
    }

    /** Snapshots as JSON, one per line, from `newest` back: those after a number or since a time. */
    public static String snapshots(FileStoreTable table, long newest, long after, long since) {
        StringBuilder lines = new StringBuilder();
        SnapshotManager snapshots = table.snapshotManager();
        for (long id = newest; id > 0 && snapshots.snapshotExists(id); id--) {
            Snapshot snapshot = snapshots.snapshot(id);
            if (id <= after && snapshot.timeMillis() < since) {
                break;
            }
            lines.append(snapshot.toJson().replace("\n", "")).append("\n");
        }
        return lines.toString();
    }

    /** The first snapshot after `after` that changed rows in these messages' partitions, or is missing; 0 if none. */
    public static long changed(FileStoreTable table, long after, long newest, List messages, boolean anywhere) {
        Set partitions = new HashSet();
        for (Iterator all = messages.iterator(); all.hasNext();) {
            partitions.add(((CommitMessage) all.next()).partition());
        }
        for (long id = after + 1; id <= newest; id++) {
            if (!table.snapshotManager().snapshotExists(id)) {
                return id;
            }
            Snapshot snapshot = table.snapshotManager().snapshot(id);
            if (snapshot.commitKind() == Snapshot.CommitKind.COMPACT
                    || snapshot.commitKind() == Snapshot.CommitKind.ANALYZE) {
                continue;
            }
            Iterator files = table.store().newScan().withSnapshot(id).withKind(ScanMode.DELTA).plan().files().iterator();
            while (files.hasNext()) {
                if (anywhere || partitions.contains(((ManifestEntry) files.next()).partition())) {
                    return id;
                }
            }
        }
        return 0;
    }
}
