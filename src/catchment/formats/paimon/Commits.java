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
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;

import org.apache.paimon.Snapshot;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataFilePathFactory;
import org.apache.paimon.io.DataInputViewStreamWrapper;
import org.apache.paimon.io.DataOutputViewStreamWrapper;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.operation.FileStoreCommit;
import org.apache.paimon.operation.Lock;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.CommitMessageSerializer;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.source.ScanMode;
import org.apache.paimon.utils.SnapshotManager;

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

        CompactingCatalog(Catalog inner, long files) {
            this.inner = inner;
            this.files = files;
        }

        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            Object answer;
            try {
                answer = method.invoke(inner, arguments);
            } catch (InvocationTargetException thrown) {
                throw thrown.getCause();
            }
            return answer instanceof FileStoreTable ? compacting((FileStoreTable) answer, files) : answer;
        }
    }

    /**
     * Lets a catalog of Spark hand out tables for compaction until `restore`; returns what it had before. Paimon's
     * procedure commits by itself: on a local disk it would replace a snapshot that somebody else has just written, and
     * it would expire snapshots that others need. So many small files of a table without a key become one.
     */
    public static Object guard(Object sparkCatalog, long files) throws Exception {
        Field field = sparkCatalog.getClass().getDeclaredField("catalog");
        field.setAccessible(true);
        Object before = field.get(sparkCatalog);
        Class[] kinds = new Class[] {Catalog.class};
        InvocationHandler handler = new CompactingCatalog((Catalog) before, files);
        field.set(sparkCatalog, Proxy.newProxyInstance(Catalog.class.getClassLoader(), kinds, handler));
        return before;
    }

    /** Gives a catalog of Spark back what it had before. */
    public static void restore(Object sparkCatalog, Object before) throws Exception {
        Field field = sparkCatalog.getClass().getDeclaredField("catalog");
        field.setAccessible(true);
        field.set(sparkCatalog, before);
    }

    private static FileStoreTable compacting(FileStoreTable table, long files) {
        FileStoreTable own = linking(table);
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
            if (mode.equals("append") || mode.equals("fence")) {
                commit.ignoreEmptyCommit(mode.equals("append")).commit(committable, Collections.emptyMap(), false);
            } else {
                commit.overwrite(Collections.emptyMap(), committable, Collections.emptyMap());
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

    /** What a writer wrote, as a text that any engine can read. */
    public static String pack(List messages) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        new CommitMessageSerializer().serializeList(messages, new DataOutputViewStreamWrapper(bytes));
        return Base64.getEncoder().encodeToString(bytes.toByteArray());
    }

    /** What was packed. */
    public static List unpack(String text, int version) throws IOException {
        byte[] bytes = Base64.getDecoder().decode(text);
        return new CommitMessageSerializer()
                .deserializeList(version, new DataInputViewStreamWrapper(new ByteArrayInputStream(bytes)));
    }

    /** Rows, bytes and number of the new files, separated by commas. */
    public static String sums(List messages) {
        long rows = 0;
        long bytes = 0;
        long files = 0;
        for (Iterator all = newFiles(messages).iterator(); all.hasNext();) {
            DataFileMeta file = (DataFileMeta) all.next();
            rows += file.rowCount();
            bytes += file.fileSize();
            files += 1;
        }
        return rows + "," + bytes + "," + files;
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
