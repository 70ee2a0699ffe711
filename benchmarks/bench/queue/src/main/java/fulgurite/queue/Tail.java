package fulgurite.queue;

import java.io.PrintStream;
import java.nio.file.Path;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.queue.ChronicleQueue;
import net.openhft.chronicle.queue.ExcerptTailer;

/** Reads events as they come, without a pause. */
final class Tail {
    /** The word that {@link #print} says when it follows. */
    static final String READY = "ready";

    /** A follower that waits so long for an event has missed it. */
    private static final long PATIENCE_NS = 60_000_000_000L;

    private Tail() {}

    /**
     * When each event was seen, in nanoseconds of the clock that all processes share.
     *
     * @throws IllegalStateException if they do not come
     */
    static long[] follow(ChronicleQueue queue, int events, Runnable ready) {
        long[] seen = new long[events];
        Bytes<?> payload = Bytes.allocateElasticDirect();
        try (ExcerptTailer tailer = queue.createTailer()) {
            tailer.toEnd();
            ready.run();
            long deadline = System.nanoTime() + PATIENCE_NS;
            for (int event = 0; event < events; ) {
                payload.clear();
                if (tailer.readBytes(payload)) {
                    seen[event] = System.nanoTime();
                    deadline = seen[event++] + PATIENCE_NS;
                } else if (System.nanoTime() > deadline) {
                    throw new IllegalStateException("of " + events + " events " + event + " came");
                } else {
                    Thread.onSpinWait();
                }
            }
        }
        return seen;
    }

    /** Follows a queue of another process, and prints when each event was seen. */
    static void print(Path directory, int events) {
        try (ChronicleQueue queue = Queues.open(directory)) {
            long[] seen = follow(queue, events, () -> System.out.println(READY));
            StringBuilder lines = new StringBuilder();
            for (long time : seen) {
                lines.append(time).append('\n');
            }
            PrintStream out = System.out;
            out.print(lines);
            out.flush();
        }
    }
}
