package catchment.commit;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * The gate at which a commit made by Java code waits for the table's lease, right before it changes the table.
 *
 * The Python side opens a gate for each compaction. The commit enters the gate when everything is written, and leaves
 * it after its swap; in between, the Python side holds the lease. Compiled by Janino: no generics.
 */
public final class SwapGate {
    /** The lease could not be taken; nothing was changed. */
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

    /** Remove the gate from the table, and refuse any commit that waits at it. */
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

    /** Report that the swap is over, whether it succeeded or not. */
    public void leave() {
        left.release();
    }

    /** Wait for a commit to request the lease; false if none does in time. */
    public boolean isAsked(long millis) throws InterruptedException {
        return asked.tryAcquire(millis, TimeUnit.MILLISECONDS);
    }

    /** Let the commit go on: the lease is held. */
    public void grant() {
        answered.release();
    }

    /** Make this commit fail, and all later ones. */
    public void refuse(String why) {
        refusal = why;
        answered.release();
    }

    /** Wait until the commit that was let through is over; false if it is not over in time. */
    public boolean isLeft(long millis) throws InterruptedException {
        return left.tryAcquire(millis, TimeUnit.MILLISECONDS);
    }
}
