package catchment.delta;

import catchment.commit.SwapGate;
import io.delta.storage.HadoopFileSystemLogStore;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Delta's log on a local disk or on S3, where Delta's own log stores check whether a version exists and then write it.
 * This one lets the store decide: of two commits of one version, the store refuses the second.
 *
 * Compiled by Janino: no generics, no lambdas, and nothing else that came after Java 6.
 */
public class ConditionalLogStore extends HadoopFileSystemLogStore {
    private static final String CONDITION = "fs.option.create.conditional.overwrite";
    private static final ConcurrentHashMap REFUSES = new ConcurrentHashMap();

    public ConditionalLogStore(Configuration conf) {
        super(conf);
    }

    public void write(Path path, Iterator actions, Boolean overwrite, Configuration conf) throws IOException {
        if (overwrite.booleanValue()) {
            writeWithRename(path, actions, overwrite, conf);
            return;
        }
        List lines = new ArrayList();
        while (actions.hasNext()) {
            lines.add(actions.next());
        }
        SwapGate gate = isCompaction(lines) ? SwapGate.at(gateOf(path.getParent().getParent(), conf)) : null;
        if (gate == null) {
            commit(path, lines, conf);
            return;
        }
        gate.enter();
        try {
            commit(path, lines, conf);
        } finally {
            gate.leave();
        }
    }

    /** The name of the gate at which compactions of a table wait for its lease. */
    public static String gateOf(Path table, Configuration conf) throws IOException {
        return table.getFileSystem(conf).makeQualified(table).toString();
    }

    /** Whether a compaction makes this commit. Others take the lease themselves, and would wait here for it forever. */
    private static boolean isCompaction(List lines) {
        for (Iterator all = lines.iterator(); all.hasNext();) {
            String line = (String) all.next();
            if (line.startsWith("{\"commitInfo\"")) {
                return line.contains("\"operation\":\"OPTIMIZE\"") || line.contains("\"operation\":\"REORG\"");
            }
        }
        return false;
    }

    private void commit(Path path, List lines, Configuration conf) throws IOException {
        if (refuses(path.getParent(), conf)) {
            create(path, bytes(lines.iterator()), conf);
        } else {
            look(path, lines.iterator(), conf);
        }
    }

    public Boolean isPartialWriteVisible(Path path, Configuration conf) throws IOException {
        return Boolean.valueOf(isLocal(path.getFileSystem(conf)));
    }

    /** Whether the store of a directory refuses to create a file that exists. This is tested once per store. */
    public static boolean refuses(Path directory, Configuration conf) throws IOException {
        FileSystem files = directory.getFileSystem(conf);
        String place = files.getUri().toString();
        if (isLocal(files)) {
            if (!local(directory).isDirectory()) {
                return false;
            }
            place += Files.getFileStore(local(directory).toPath());
        }
        Boolean known = (Boolean) REFUSES.get(place);
        if (known == null) {
            known = Boolean.valueOf(isLocal(files) || isConditional(files, directory));
            if (known.booleanValue()) {
                known = Boolean.valueOf(tried(directory, conf));
            }
            REFUSES.put(place, known);
        }
        return known.booleanValue();
    }

    private static boolean isConditional(FileSystem files, Path directory) throws IOException {
        return files.hasPathCapability(directory, CONDITION) || ConditionalPut.isPossible(files);
    }

    private static boolean tried(Path directory, Configuration conf) throws IOException {
        Path probe = new Path(directory, ".catchment-" + UUID.randomUUID() + ".probe");
        try {
            create(probe, new byte[] {1}, conf);
            create(probe, new byte[] {2}, conf);
            return false;
        } catch (FileAlreadyExistsException refused) {
            return true;
        } catch (UnsupportedOperationException noLinks) {
            return false;
        } catch (FileSystemException noLinks) {
            return false;
        } finally {
            probe.getFileSystem(conf).delete(probe, false);
        }
    }

    private static void create(Path path, byte[] content, Configuration conf) throws IOException {
        FileSystem files = path.getFileSystem(conf);
        if (isLocal(files)) {
            link(local(path), content);
            return;
        }
        try {
            if (files.hasPathCapability(path, CONDITION)) {
                FSDataOutputStream out =
                    (FSDataOutputStream) files.createFile(path).create().must(CONDITION, true).build();
                out.write(content);
                out.close();
            } else {
                ConditionalPut.create(files, path, content);
            }
        } catch (IOException failed) {
            if (!files.exists(path)) {
                throw failed;
            }
            // The client may have sent the request twice and report its own success as another writer's.
            if (!Arrays.equals(content(files, path), content)) {
                throw new FileAlreadyExistsException(path.toString());
            }
        }
    }

    /** Write a draft beside the file and link it to its name, which fails if the name is taken. */
    private static void link(File file, byte[] content) throws IOException {
        File draft = new File(file.getParentFile(), "." + file.getName() + "." + UUID.randomUUID() + ".tmp");
        try {
            FileOutputStream out = new FileOutputStream(draft);
            try {
                out.write(content);
                out.getFD().sync();
            } finally {
                out.close();
            }
            Files.createLink(file.toPath(), draft.toPath());
            // Hadoop would compare the file with a checksum that another writer has left under this name.
            new File(file.getParentFile(), "." + file.getName() + ".crc").delete();
        } finally {
            draft.delete();
        }
    }

    /** Commit as Delta does, where the store cannot decide: safe in one process, and across processes under a lease. */
    private void look(Path path, Iterator actions, Configuration conf) throws IOException {
        synchronized (ConditionalLogStore.class) {
            FileSystem files = path.getFileSystem(conf);
            if (isLocal(files)) {
                writeWithRename(path, actions, Boolean.FALSE, conf);
                return;
            }
            if (files.exists(path)) {
                throw new FileAlreadyExistsException(path.toString());
            }
            FSDataOutputStream out = files.create(path, false);
            out.write(bytes(actions));
            out.close();
        }
    }

    private static byte[] bytes(Iterator actions) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        while (actions.hasNext()) {
            out.write((actions.next() + "\n").getBytes(StandardCharsets.UTF_8));
        }
        return out.toByteArray();
    }

    private static byte[] content(FileSystem files, Path path) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] part = new byte[65536];
        InputStream in = files.open(path);
        try {
            for (int read = in.read(part); read >= 0; read = in.read(part)) {
                out.write(part, 0, read);
            }
        } finally {
            in.close();
        }
        return out.toByteArray();
    }

    private static boolean isLocal(FileSystem files) {
        return "file".equals(files.getUri().getScheme());
    }

    private static File local(Path path) {
        return new File(path.toUri().getPath());
    }
}
