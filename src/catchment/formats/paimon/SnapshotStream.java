package catchment.paimon;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.paimon.Snapshot;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.utils.SnapshotManager;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.streaming.Offset;
import org.apache.spark.sql.execution.streaming.Source;
import org.apache.spark.sql.execution.streaming.StreamingExecutionRelation$;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * Streams the rows that are added to a Paimon table: a batch has those of the snapshots after one, up to another. Both
 * are in the checkpoint before the batch runs, so that it has the same rows if it is run again. Compiled by Janino: no
 * generics.
 */
public final class SnapshotStream implements Source {
    /** A snapshot that the stream needs no longer exists. */
    public static final class Gone extends RuntimeException {
        Gone(String message) {
            super(message);
        }
    }

    /** A snapshot does not only add rows. */
    public static final class Overwritten extends RuntimeException {
        Overwritten(String message) {
            super(message);
        }
    }

    /** A snapshot by number and identity: after a rollback, another one may have the same number. */
    static final class Place extends Offset {
        final long id;
        final String manifests;

        Place(long id, String manifests) {
            this.id = id;
            this.manifests = manifests;
        }

        static Place of(Offset offset) throws Exception {
            JsonNode found = new ObjectMapper().readTree(offset.json());
            return new Place(found.get("snapshot").asLong(), found.get("manifests").asText());
        }

        public String json() {
            return "{\"snapshot\":" + id + ",\"manifests\":\"" + manifests + "\"}";
        }
    }

    private final SparkSession session;
    private final String name;
    private final FileStoreTable table;
    private final StructType schema;
    private final Map options;
    private final String modeKey;
    private final Collection changingModes;

    /** `modeKey` finds the mode in the user name of a Catchment commit; `changingModes` are those that change rows. */
    public SnapshotStream(
            SparkSession session,
            String name,
            FileStoreTable table,
            Map options,
            String modeKey,
            Collection changingModes) {
        this.session = session;
        this.name = name;
        this.table = table;
        this.schema = session.read().options(options).table(name).schema();
        this.options = options;
        this.modeKey = modeKey;
        this.changingModes = changingModes;
    }

    /** The rows as a streaming DataFrame. */
    public static Dataset rows(SnapshotStream stream) {
        return Dataset.ofRows(stream.session, StreamingExecutionRelation$.MODULE$.apply(stream, stream.session));
    }

    public StructType schema() {
        return schema;
    }

    public Option getOffset() {
        Snapshot newest = table.snapshotManager().latestSnapshot();
        return Option.apply(newest == null ? null : new Place(newest.id(), newest.deltaManifestList()));
    }

    public Dataset getBatch(Option start, Offset end) {
        Map chosen = new HashMap(options);
        try {
            Place last = Place.of(end);
            require(last);
            if (start.isEmpty()) {
                chosen.put("scan.snapshot-id", String.valueOf(last.id));
            } else {
                Place first = Place.of((Offset) start.get());
                require(first);
                checkOnlyAdds(first.id, last.id);
                chosen.put("incremental-between", first.id + "," + last.id);
            }
        } catch (RuntimeException refused) {
            throw refused;
        } catch (Exception unreadable) {
            throw new IllegalStateException(unreadable);
        }
        // The table may have gained columns since the stream was started.
        Dataset rows = session.read().options(chosen).table(name);
        Column[] columns = new Column[schema.fieldNames().length];
        for (int number = 0; number < columns.length; number++) {
            columns[number] = rows.col("`" + schema.fieldNames()[number] + "`");
        }
        return session.internalCreateDataFrame(rows.select(columns).queryExecution().toRdd(), schema, true);
    }

    private void require(Place place) {
        SnapshotManager snapshots = table.snapshotManager();
        boolean there = snapshots.snapshotExists(place.id);
        if (!there || !snapshots.snapshot(place.id).deltaManifestList().equals(place.manifests)) {
            throw new Gone("snapshot " + place.id + " of " + name + " is not in its history any more");
        }
    }

    private void checkOnlyAdds(long first, long last) throws Exception {
        SnapshotManager snapshots = table.snapshotManager();
        for (long id = first + 1; id <= last; id++) {
            Snapshot snapshot = snapshots.snapshot(id);
            String kind = snapshot.commitKind().toString();
            if (kind.equals("APPEND") ? changingModes.contains(modeOf(snapshot)) : kind.equals("OVERWRITE")) {
                throw new Overwritten("snapshot " + id + " of " + name + " does not only add rows");
            }
        }
    }

    private String modeOf(Snapshot snapshot) throws Exception {
        String user = snapshot.commitUser();
        if (!user.startsWith("{")) {
            return "";
        }
        JsonNode mode = new ObjectMapper().readTree(user).get(modeKey);
        return mode == null ? "" : mode.asText();
    }

    public void stop() {}
}
