package catchment.streams;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import org.apache.spark.api.java.function.VoidFunction2;

/**
 * Hands the batches of a streaming query to the thread of its attempt, and makes the query wait until they are written.
 *
 * Spark calls this in a thread of its own. It does not call Python, so that a batch is written like any other write: in
 * the thread, session and job group of its attempt, which handle its errors and its cancellation.
 */
public final class Batches implements VoidFunction2 {
    /** A batch that waits to be written. */
    public static final class Batch {
        final CountDownLatch over = new CountDownLatch(1);
        private final String view;
        private final Object rows;
        private final long number;
        volatile boolean failed = false;

        Batch(String view, Object rows, long number) {
            this.view = view;
            this.rows = rows;
            this.number = number;
        }

        public String view() {
            return view;
        }

        public Object rows() {
            return rows;
        }

        public long number() {
            return number;
        }

        /** All outputs have the batch: the query continues. */
        public void written() {
            over.countDown();
        }

        /** The batch was not written: the query fails, and repeats this batch when it is started the next time. */
        public void failed() {
            failed = true;
            over.countDown();
        }
    }

    private final String view;
    private final BlockingQueue waiting;

    public Batches(String view, BlockingQueue waiting) {
        this.view = view;
        this.waiting = waiting;
    }

    public void call(Object rows, Object number) throws Exception {
        Batch batch = new Batch(view, rows, ((Long) number).longValue());
        waiting.put(batch);
        batch.over.await();
        if (batch.failed) {
            throw new IllegalStateException("the batch was not written");
        }
    }
}
