package fulgurite.bench;

import java.lang.management.ManagementFactory;

/** Processor time of the whole process, garbage collector and compiler included, and wall time, since it was made. */
final class Watch {
    private static final com.sun.management.OperatingSystemMXBean SYSTEM =
            (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final java.lang.management.ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private final long own = THREADS.getCurrentThreadCpuTime();
    private final long cpu = SYSTEM.getProcessCpuTime();
    private final long wall = System.nanoTime();

    long cpuNanos() {
        return SYSTEM.getProcessCpuTime() - cpu;
    }

    /** Processor time of all threads but this one, which made the watch. */
    long nanosOfOthers() {
        return cpuNanos() - (THREADS.getCurrentThreadCpuTime() - own);
    }

    long wallNanos() {
        return System.nanoTime() - wall;
    }

    void print(String name, long operations, Latencies latencies) {
        long wallNanos = wallNanos();
        long cpuNanos = cpuNanos();
        String percentiles = latencies == null ? "NaN NaN" : latencies.percentile(0.5) + " " + latencies.percentile(0.99);
        System.out.println("sample " + name + " " + operations + " " + cpuNanos + " " + wallNanos + " " + percentiles);
    }
}
