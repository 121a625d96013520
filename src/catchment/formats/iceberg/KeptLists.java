package catchment.iceberg;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.Map;

import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.encryption.EncryptionManager;
import org.apache.iceberg.encryption.PlaintextEncryptionManager;
import org.apache.iceberg.inmemory.InMemoryInputFile;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.LocationProvider;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.io.PositionOutputStream;

/**
 * Keeps the manifest lists that this engine wrote last, for its next transaction. Compiled by Janino: no generics.
 *
 * An append reads the list of the snapshot before it, which is three requests to a store, while the other writers of
 * the table wait. Mostly it is the list that the same engine has just written. A list has a name of its own and never
 * changes, so what is kept is what the store has.
 */
public final class KeptLists {
    private static final int MOST_BYTES = 8 << 20;
    private static final int LONGEST = MOST_BYTES / 8;

    private static final Map kept = new LinkedHashMap();
    private static int bytes = 0;

    private static final int MOST_VIEWS = 8;
    private static final LinkedList views = new LinkedList();

    private KeptLists() {}

    /** The operations of a table, for a transaction that reads kept lists from memory; an encrypted one keeps none. */
    public static TableOperations of(TableOperations operations) {
        return operations.encryption() instanceof PlaintextEncryptionManager ? new Keeping(operations) : operations;
    }

    /** The view of a store, which stays the same from commit to commit: Iceberg keeps the content of manifests by it. */
    private static synchronized FileIO viewOf(FileIO store) {
        KeepingIO view = null;
        for (Iterator all = views.iterator(); view == null && all.hasNext();) {
            KeepingIO known = (KeepingIO) all.next();
            if (known.store == store) {
                view = known;
                all.remove();
            }
        }
        view = view == null ? new KeepingIO(store) : view;
        views.addFirst(view);
        if (views.size() > MOST_VIEWS) {
            views.removeLast();
        }
        return view;
    }

    private static synchronized void keep(String list, byte[] content) {
        byte[] before = (byte[]) kept.put(list, content);
        bytes += content.length - (before == null ? 0 : before.length);
        for (Iterator oldest = kept.values().iterator(); bytes > MOST_BYTES; oldest.remove()) {
            bytes -= ((byte[]) oldest.next()).length;
        }
    }

    private static synchronized byte[] find(String list) {
        return (byte[]) kept.get(list);
    }

    /** Whether Iceberg gives this name to a manifest list. */
    private static boolean isList(String path) {
        String name = path.substring(path.lastIndexOf('/') + 1);
        return name.startsWith("snap-") && name.endsWith(".avro");
    }

    private static final class Keeping implements TableOperations {
        private final TableOperations table;

        Keeping(TableOperations table) {
            this.table = table;
        }

        public TableMetadata current() {
            return table.current();
        }

        public TableMetadata refresh() {
            return table.refresh();
        }

        public void commit(TableMetadata base, TableMetadata changed) {
            table.commit(base, changed);
        }

        public FileIO io() {
            return viewOf(table.io());
        }

        public EncryptionManager encryption() {
            return table.encryption();
        }

        public String metadataFileLocation(String name) {
            return table.metadataFileLocation(name);
        }

        public LocationProvider locationProvider() {
            return table.locationProvider();
        }

        public TableOperations temp(TableMetadata uncommitted) {
            return new Keeping(table.temp(uncommitted));
        }

        public long newSnapshotId() {
            return table.newSnapshotId();
        }

        public boolean requireStrictCleanup() {
            return table.requireStrictCleanup();
        }
    }

    private static final class KeepingIO implements FileIO {
        private final FileIO store;

        KeepingIO(FileIO store) {
            this.store = store;
        }

        public InputFile newInputFile(String path) {
            byte[] content = find(path);
            return content != null ? new InMemoryInputFile(path, content) : store.newInputFile(path);
        }

        public InputFile newInputFile(String path, long length) {
            byte[] content = find(path);
            return content != null ? new InMemoryInputFile(path, content) : store.newInputFile(path, length);
        }

        public OutputFile newOutputFile(String path) {
            OutputFile file = store.newOutputFile(path);
            return isList(path) ? new KeptFile(file) : file;
        }

        public void deleteFile(String path) {
            store.deleteFile(path);
        }

        public Map properties() {
            return store.properties();
        }
    }

    private static final class KeptFile implements OutputFile {
        private final OutputFile file;

        KeptFile(OutputFile file) {
            this.file = file;
        }

        public PositionOutputStream create() {
            return new KeptStream(file.location(), file.create());
        }

        public PositionOutputStream createOrOverwrite() {
            return new KeptStream(file.location(), file.createOrOverwrite());
        }

        public String location() {
            return file.location();
        }

        public InputFile toInputFile() {
            return file.toInputFile();
        }
    }

    /** Writes to the store and to memory; what is in memory counts once the store has confirmed the file. */
    private static final class KeptStream extends PositionOutputStream {
        private final String list;
        private final PositionOutputStream stream;
        /** Null if the list is too long to be kept. */
        private ByteArrayOutputStream content = new ByteArrayOutputStream();

        KeptStream(String list, PositionOutputStream stream) {
            this.list = list;
            this.stream = stream;
        }

        public long getPos() throws IOException {
            return stream.getPos();
        }

        public long storedLength() throws IOException {
            return stream.storedLength();
        }

        public void write(int each) throws IOException {
            stream.write(each);
            copy(new byte[] {(byte) each}, 0, 1);
        }

        public void write(byte[] given, int offset, int length) throws IOException {
            stream.write(given, offset, length);
            copy(given, offset, length);
        }

        private void copy(byte[] given, int offset, int length) {
            if (content != null && content.size() + length <= LONGEST) {
                content.write(given, offset, length);
            } else {
                content = null;
            }
        }

        public void flush() throws IOException {
            stream.flush();
        }

        public void close() throws IOException {
            stream.close();
            if (content != null) {
                keep(list, content.toByteArray());
            }
        }
    }
}
