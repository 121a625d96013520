package catchment.commit;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Where a commit that Java makes by itself waits for the table's lease, right before it changes the table.
 *
 * Whoever compacts a table opens a gate for it. The commit enters the gate when everything is written, and leaves it
 * after its swap; in between, the other side holds the lease. Compiled by Janino: no generics.
 */
public final class SwapGate {
    /** The lease could not be had; nothing was changed. */
    public static final class Refused extends RuntimeException {
        Refused(String message) {
            super(message);
        }
    }

    private static final ConcurrentHashMap OPEN = new ConcurrentHashMap();

    private final String place;
    private final Semaphore asked = new Semaphore(0);
    private final Semaphore answered = new Semaphore(0);
    private final Semaphore left = new Semaphore(0);
    private volatile String refusal;

    private SwapGate(String place) {
        this.place = place;
    }

    /** A gate for the commits of one compaction of a table; a table has one compaction at a time. */
    public static SwapGate open(String place) {
        SwapGate gate = new SwapGate(place);
        OPEN.put(place, gate);
        return gate;
    }

    /** The gate of a table; null if there is none. */
    public static SwapGate at(String place) {
        return (SwapGate) OPEN.get(place);
    }

    /** From now on the table has no gate, and whoever waits at this one is refused. */
    public void close() {
        OPEN.remove(place, this);
        refuse("the compaction has ended");
    }

    /** Wait until the lease is held. */
    public void enter() {
        asked.release();
        answered.acquireUninterruptibly();
        if (refusal != null) {
            answered.release();
            throw new Refused(refusal);
        }
    }

    /** The swap is over, whatever became of it. */
    public void leave() {
        left.release();
    }

    /** Whether a commit waits for the lease; waits for one. */
    public boolean isAsked(long millis) throws InterruptedException {
        return asked.tryAcquire(millis, TimeUnit.MILLISECONDS);
    }

    /** The lease is held: let the commit go on. */
    public void grant() {
        answered.release();
    }

    /** Let this commit fail, and all that come later. */
    public void refuse(String why) {
        refusal = why;
        answered.release();
    }

    /** Whether the commit that was let through is over; waits for that. */
    public boolean isLeft(long millis) throws InterruptedException {
        return left.tryAcquire(millis, TimeUnit.MILLISECONDS);
    }
}
