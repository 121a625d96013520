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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
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
 * Paimon tries a commit again for as long as others commit first, without looking whether one of those commits was its
 * own. The lock that Paimon takes around each swap is the place to refuse that: ours lets a swap pass only if the
 * newest snapshot is still the one in which the caller has looked for its writes.
 */
public final class Commits {
    private Commits() {}

    /** Thrown if the newest snapshot is another one than the caller knows. Nothing was committed. */
    public static final class Moved extends RuntimeException {
        public Moved(String message) {
            super(message);
        }
    }

    /** The lock of the table's catalog, with the check of the newest snapshot inside of it. */
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

    /** Local files. A rename fails if the name is taken, also between processes: Paimon's own replaces the file. */
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

        /** Tasks write data files only, and have no need of this class. */
        private Object writeReplace() {
            return new LocalFileIO();
        }
    }

    /** A catalog whose tables are fit for a compaction; everything else is answered by the catalog itself. */
    static final class CompactingCatalog implements InvocationHandler {
        private final Catalog inner;
        private final long files;
        private final String gate;

        CompactingCatalog(Catalog inner, long files, String gate) {
            this.inner = inner;
            this.files = files;
            this.gate = gate;
        }

        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            Object answer;
            try {
                answer = method.invoke(inner, arguments);
            } catch (InvocationTargetException thrown) {
                throw thrown.getCause();
            }
            return answer instanceof FileStoreTable ? compacting((FileStoreTable) answer, files, gate) : answer;
        }
    }

    /**
     * Lets a catalog of Spark hand out tables for compaction until `restore`; returns what it had before. Paimon's
     * procedure commits by itself: on a local disk it would replace a snapshot that somebody else has just written, and
     * it would expire snapshots that others need. So many small files of a table without a key become one. If a gate is
     * named, swaps wait there.
     */
    public static Object guard(Object sparkCatalog, long files, String gate) throws Exception {
        Field field = sparkCatalog.getClass().getDeclaredField("catalog");
        field.setAccessible(true);
        Object before = field.get(sparkCatalog);
        Class[] kinds = new Class[] {Catalog.class};
        InvocationHandler handler = new CompactingCatalog((Catalog) before, files, gate);
        field.set(sparkCatalog, Proxy.newProxyInstance(Catalog.class.getClassLoader(), kinds, handler));
        return before;
    }

    /** Gives a catalog of Spark back what it had before. */
    public static void restore(Object sparkCatalog, Object before) throws Exception {
        Field field = sparkCatalog.getClass().getDeclaredField("catalog");
        field.setAccessible(true);
        field.set(sparkCatalog, before);
    }

    private static FileStoreTable compacting(FileStoreTable table, long files, String gate) {
        FileStoreTable own = linking(table);
        if (gate != null) {
            own = FileStoreTableFactory.create(
                    own.fileIO(), own.location(), own.schema(), GatedLocks.in(own.catalogEnvironment(), gate));
        }
        Map options = new HashMap();
        options.put("snapshot.num-retained.min", String.valueOf(Integer.MAX_VALUE));
        options.put("snapshot.num-retained.max", String.valueOf(Integer.MAX_VALUE));
        // Paimon leaves fewer files alone; whoever asks for a compaction has decided that it is worth it.
        options.put("compaction.max.file-num", String.valueOf(files));
        return own.copy(options);
    }

    private static FileStoreTable linking(FileStoreTable table) {
        if (table.fileIO().getClass() != LocalFileIO.class) {
            return table;
        }
        return FileStoreTableFactory.create(
                new LinkingFileIO(), table.location(), table.schema(), table.catalogEnvironment());
    }

    /** Fails once, in the way that lets a pool replace the connection. */
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
     * Lets a catalog on SQLite connect anew. When it is opened, it looks for its own tables and leaves that query open:
     * its connection would see the database as it was then for ever, and could not write once others have.
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

    /** The table of a name, as it is now. */
    public static Table load(Catalog catalog, String database, String name) throws Exception {
        return catalog.getTable(Identifier.create(database, name));
    }

    /** The table for commits: it neither compacts nor expires, and refuses a second snapshot of one number. */
    public static FileStoreTable committing(FileStoreTable table) {
        return linking(table).copy(Collections.singletonMap("write-only", "true"));
    }

    /**
     * Commits as the snapshot after `base`, whose number is returned; throws Moved if there is another one by now.
     * A fence changes nothing: after it, nobody can commit on the same base.
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
     * Writes the rows that a DELETE or MERGE changes in a table with a primary key; returns what is to be committed,
     * packed. The plan is the analyzed statement; run by itself, it would commit.
     */
    public static String change(SparkSession session, Object plan) throws Exception {
        if (plan.getClass().getSimpleName().startsWith("Delete")) {
            return pack(JavaConverters.seqAsJavaList((Seq) call(plan, "performPrimaryKeyDelete", session)));
        }
        call(plan, "checkMatchRationality", session);
        return pack(JavaConverters.seqAsJavaList((Seq) call(plan, "performMergeForPkTable", session)));
    }

    /**
     * A parsed MERGE in which every clause may call the table by its alias. Paimon looks for some columns below the
     * alias of the table, so it has the same one there.
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

    /** Whether a table has nothing but its first schema: no snapshot, and no file that somebody may still commit. */
    public static boolean isBlank(FileStoreTable table) throws IOException {
        return hasOnly(table.fileIO(), table.location(), "schema-0");
    }

    /**
     * Removes the schema that somebody left who died while creating a table: the catalog does not know it, and refuses
     * to create the table again. Only for whoever may create the table, and has found that there is none.
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

    /** What a table is, as JSON. */
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

    /** Writes rows as files that nothing refers to yet, without compaction; returns what is to be committed, packed. */
    public static String write(FileStoreTable table, Dataset rows) throws IOException {
        return pack(JavaConverters.seqAsJavaList(new PaimonSparkWriter(table).writeOnly().write(rows)));
    }

    /**
     * What a writer wrote, as a text that any engine can read: rows, bytes and number of the new files, the version of
     * the serializer, and the messages, separated by spaces.
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

    /**
     * The data files of the newest snapshot: rows, bytes, level, milliseconds of creation, format and path, one file in each line.
     */
    public static String files(FileStoreTable table) {
        StringBuilder lines = new StringBuilder();
        for (Iterator all = table.store().newScan().plan().files().iterator(); all.hasNext();) {
            ManifestEntry entry = (ManifestEntry) all.next();
            DataFileMeta file = entry.file();
            Path path = table.store()
                    .pathFactory()
                    .createDataFilePathFactory(entry.partition(), entry.bucket())
                    .toPath(file.fileName());
            lines.append(file.rowCount()).append(" ").append(file.fileSize()).append(" ");
            lines.append(file.level()).append(" ").append(file.creationTimeEpochMillis()).append(" ");
            lines.append(file.fileFormat()).append(" ").append(path).append("\n");
        }
        return lines.toString();
    }

    /** Snapshots as JSON, one in each line, from the newest back to the one after a number and a time. */
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

    /** The first snapshot after one that changed rows of the partitions of these messages; 0 if none did. */
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
