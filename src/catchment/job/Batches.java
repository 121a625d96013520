package catchment.streams;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import org.apache.spark.api.java.function.VoidFunction2;

/**
 * Hands the batches of a streaming query to the thread of its attempt, and lets the query wait until they are written.
 *
 * Spark calls this in a thread of its own. Python is not called back, so that a batch is written where every other
 * write is: in the thread, session and job group of its attempt, whose errors and whose cancellation reach it.
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

        /** Every output has it: the query goes on. */
        public void written() {
            over.countDown();
        }

        /** The query fails; it runs this batch again when it is started the next time. */
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
