package fulgurite.states;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The processor time of this process with all its threads, also those of native libraries. */
final class ProcessorTime {
    private static final Path THREADS = Path.of("/proc/self/task");
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private ProcessorTime() {}

    /**
     * Nanoseconds. Linux counts them for each thread; the count of the process has steps of ten milliseconds. A thread
     * that has ended does not count, so the figure of a round in which threads end is too low by their time.
     */
    static long now() throws IOException {
        if (!Files.exists(THREADS.resolveSibling("schedstat"))) {
            return SYSTEM.getProcessCpuTime();
        }
        List<Path> threads;
        try (Stream<Path> found = Files.list(THREADS)) {
            threads = found.collect(Collectors.toList());
        }
        long sum = 0;
        for (Path thread : threads) {
            try {
                sum += Long.parseLong(Files.readString(thread.resolve("schedstat")).split(" ")[0]);
            } catch (IOException ended) {
                // The thread has ended since it was listed: there is no such file (ENOENT) or thread (ESRCH).
            }
        }
        return sum;
    }
}
