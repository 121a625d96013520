package catchment.delta;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.FileAlreadyExistsException;
import java.util.Map;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.util.functional.CallableRaisingIOE;

/**
 * Creates a file on S3 with Hadoop 3.3, only if it does not exist.
 *
 * That Hadoop has no option for a condition. So its own request, which has the encryption and the permissions that are
 * configured for the bucket, gets the header, and its own client sends it. Other versions of Hadoop have no such
 * client, so it is called by reflection.
 *
 * Compiled by Janino: no generics, no lambdas, and nothing else that came after Java 6.
 */
public final class ConditionalPut implements CallableRaisingIOE {
    private static final String ENABLED = "fs.s3a.create.conditional.enabled";
    private static final String REQUEST = "com.amazonaws.services.s3.model.PutObjectRequest";
    private static final int EXISTS = 412;

    private final FileSystem files;
    private final Object helper;
    private final Method send;
    private final String key;
    private final byte[] content;

    private ConditionalPut(FileSystem files, Path path, byte[] content) throws Exception {
        this.files = files;
        this.helper = call(files, "getWriteOperationHelper", new Class[0], new Object[0]);
        this.send = sender(files);
        this.key = (String) call(files, "pathToKey", new Class[] {Path.class}, new Object[] {path});
        this.content = content;
    }

    /** Whether a file system has this client. The setting with which newer versions do without conditions counts. */
    public static boolean isPossible(FileSystem files) {
        try {
            sender(files);
            return files.getConf().getBoolean(ENABLED, true);
        } catch (ReflectiveOperationException another) {
            return false;
        }
    }

    /** Create a file; FileAlreadyExistsException if the store refuses. Other failures are tried again, as usual. */
    public static void create(FileSystem files, Path path, byte[] content) throws IOException {
        try {
            ConditionalPut put = new ConditionalPut(files, path, content);
            Class[] types = {String.class, String.class, Boolean.TYPE, CallableRaisingIOE.class};
            Object[] values = {"create", path.toString(), Boolean.TRUE, put};
            if (!((Boolean) call(put.helper, "retry", types, values)).booleanValue()) {
                throw new FileAlreadyExistsException(path.toString());
            }
        } catch (Exception failed) {
            throw failure(failed);
        }
    }

    /** Send the request; false if the store refuses. An exception would be a reason to send it again. */
    public Object apply() throws IOException {
        try {
            send.invoke(files, new Object[] {request()});
            return Boolean.TRUE;
        } catch (InvocationTargetException failed) {
            if (status(failed.getCause()) == EXISTS) {
                return Boolean.FALSE;
            }
            throw failure(failed);
        } catch (Exception failed) {
            throw failure(failed);
        }
    }

    private Object request() throws Exception {
        Class[] types = {String.class, InputStream.class, Long.TYPE, Map.class};
        Object[] values = {key, new ByteArrayInputStream(content), Long.valueOf(content.length), null};
        Object request = call(helper, "createPutObjectRequest", types, values);
        Class[] texts = {String.class, String.class};
        call(request, "putCustomRequestHeader", texts, new Object[] {"If-None-Match", "*"});
        return request;
    }

    /** What sends a request once. The helper's own method would send one that was refused again, for minutes. */
    private static Method sender(FileSystem files) throws ReflectiveOperationException {
        Class request = Class.forName(REQUEST, false, files.getClass().getClassLoader());
        Method found = files.getClass().getDeclaredMethod("putObjectDirect", new Class[] {request});
        found.setAccessible(true);
        return found;
    }

    private static int status(Throwable answer) throws IOException {
        try {
            return ((Integer) call(answer, "getStatusCode", new Class[0], new Object[0])).intValue();
        } catch (Exception none) {
            return 0;
        }
    }

    private static Object call(Object object, String name, Class[] types, Object[] values) throws Exception {
        return object.getClass().getMethod(name, types).invoke(object, values);
    }

    /** The exception to throw: what the client has thrown, as it is. */
    private static IOException failure(Exception failed) {
        Throwable cause = failed instanceof InvocationTargetException ? failed.getCause() : failed;
        if (cause instanceof RuntimeException) {
            throw (RuntimeException) cause;
        }
        if (cause instanceof Error) {
            throw (Error) cause;
        }
        return cause instanceof IOException ? (IOException) cause : new IOException(cause);
    }
}
