import java.io.File;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/** HDFS and YARN in one process, until it is killed: {@code java MiniHadoop.java FILE KEY=VALUE...}. */
public class MiniHadoop {
    /** Starts both, and writes the settings by which clients find them to the file. */
    public static void main(String[] arguments) throws InterruptedException {
        try {
            start(arguments);
        } catch (Throwable problem) {
            problem.printStackTrace();
            Runtime.getRuntime().halt(1); // threads of what was started would keep Java alive
        }
        Thread.sleep(Long.MAX_VALUE);
    }

    private static void start(String[] arguments) throws Exception {
        Configuration conf = new YarnConfiguration();
        for (int number = 1; number < arguments.length; number++) {
            String[] pair = arguments[number].split("=", 2);
            conf.set(pair[0], pair[1]);
        }
        MiniDFSCluster files = new MiniDFSCluster.Builder(conf).numDataNodes(1).build();
        files.waitActive();
        FileSystem.setDefaultUri(conf, files.getURI());
        MiniYARNCluster yarn = new MiniYARNCluster("catchment", 2, 1, 1);
        yarn.init(conf);
        yarn.start();
        // Other settings name classes that only a mini cluster has.
        Configuration made = new Configuration(false);
        FileSystem.setDefaultUri(made, files.getURI());
        for (Map.Entry<String, String> entry : yarn.getConfig()) {
            if (entry.getKey().startsWith("yarn.resourcemanager.") && entry.getKey().endsWith("address")) {
                made.set(entry.getKey(), yarn.getConfig().get(entry.getKey()));
            }
        }
        File draft = new File(arguments[0] + ".new");
        try (OutputStream out = new FileOutputStream(draft)) {
            made.writeXml(out);
        }
        if (!draft.renameTo(new File(arguments[0]))) {
            throw new IllegalStateException("cannot write " + arguments[0]);
        }
    }
}
