package fulgurite.queue;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.Arrays;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.queue.ChronicleQueue;
import net.openhft.chronicle.queue.ExcerptAppender;
import net.openhft.chronicle.queue.ExcerptTailer;

/** Appends events as fast as one thread can. */
final class Append {
    /** Events to another queue before the measurement, in which the virtual machine compiles the code. */
    private static final int WARM_UP = 1_000_000;

    private Append() {}

    /**
     * Prints the number of events in the queue, processor time of the process and wall time in nanoseconds, then the
     * median and the 99th percentile over laps of the wall time of an event.
     */
    static void measure(Path directory, int events, int eventsPerLap, int payloadBytes) {
        Bytes<?> payload = Queues.payload(payloadBytes);
        try (ChronicleQueue queue = Queues.open(directory.resolve("warm-up"))) {
            append(queue, payload, Math.min(WARM_UP, events), eventsPerLap);
        }
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        try (ChronicleQueue queue = Queues.open(directory.resolve("measured"))) {
            long cpu = system.getProcessCpuTime();
            long begun = System.nanoTime();
            double[] laps = append(queue, payload, events, eventsPerLap);
            long wall = System.nanoTime() - begun;
            cpu = system.getProcessCpuTime() - cpu;
            Arrays.sort(laps);
            double median = laps[(laps.length - 1) / 2];
            double slow = laps[(int) Math.ceil(0.99 * laps.length) - 1];
            System.out.println(count(queue) + " " + cpu + " " + wall + " " + median + " " + slow);
        }
    }

    private static long count(ChronicleQueue queue) {
        Bytes<?> payload = Bytes.allocateElasticDirect();
        try (ExcerptTailer tailer = queue.createTailer()) {
            long count = 0;
            while (tailer.readBytes(payload)) {
                payload.clear();
                count++;
            }
            return count;
        }
    }

    private static double[] append(ChronicleQueue queue, Bytes<?> payload, int events, int eventsPerLap) {
        double[] laps = new double[(events + eventsPerLap - 1) / eventsPerLap];
        try (ExcerptAppender appender = queue.createAppender()) {
            long before = System.nanoTime();
            for (int lap = 0, done = 0; lap < laps.length; lap++) {
                int count = Math.min(eventsPerLap, events - done);
                for (int event = 0; event < count; event++) {
                    appender.writeBytes(payload);
                }
                done += count;
                long now = System.nanoTime();
                laps[lap] = (double) (now - before) / count;
                before = now;
            }
        }
        return laps;
    }
}
