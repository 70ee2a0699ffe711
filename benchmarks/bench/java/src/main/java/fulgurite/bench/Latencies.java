package fulgurite.bench;

import java.util.Arrays;

/** Wall time of each operation. */
final class Latencies {
    private long[] nanos = new long[1024];
    private int count;

    void add(long elapsed) {
        if (count == nanos.length) {
            nanos = Arrays.copyOf(nanos, 2 * count);
        }
        nanos[count++] = elapsed;
    }

    /** The smallest that at least this share of all do not exceed. */
    double percentile(double share) {
        long[] sorted = Arrays.copyOf(nanos, count);
        Arrays.sort(sorted);
        int rank = (int) Math.ceil(share * count);
        return count == 0 ? Double.NaN : sorted[Math.max(rank, 1) - 1];
    }
}
