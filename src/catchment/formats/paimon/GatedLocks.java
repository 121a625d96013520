package catchment.paimon;

import catchment.commit.SwapGate;
import java.util.concurrent.Callable;
import org.apache.paimon.operation.Lock;
import org.apache.paimon.table.CatalogEnvironment;

/**
 * Locks for a table whose catalog has none: Paimon's swap waits at the table's gate until the lease is held.
 * Compiled by Janino: no generics.
 */
public final class GatedLocks implements Lock.Factory {
    private final String place;

    public GatedLocks(String place) {
        this.place = place;
    }

    public Lock create() {
        return new GatedLock(SwapGate.at(place));
    }

    /** The same catalog, with these locks. */
    static CatalogEnvironment in(CatalogEnvironment known, String place) {
        return new CatalogEnvironment(
                known.identifier(),
                new GatedLocks(place),
                known.metastoreClientFactory(),
                known.lineageMetaFactory());
    }

    /** Tasks only write data files and do not need this class. */
    private Object writeReplace() {
        return CatalogEnvironment.empty().lockFactory();
    }

    static final class GatedLock implements Lock {
        private final SwapGate gate;

        GatedLock(SwapGate gate) {
            this.gate = gate;
        }

        public Object runWithLock(Callable swap) throws Exception {
            gate.enter();
            try {
                return swap.call();
            } finally {
                gate.leave();
            }
        }

        public void close() {}
    }
}
