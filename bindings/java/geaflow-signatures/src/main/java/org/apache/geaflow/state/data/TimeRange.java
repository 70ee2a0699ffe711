package org.apache.geaflow.state.data;

/** Times from a start to before an end. */
public class TimeRange {
    private final long start;
    private final long end;

    private TimeRange(long start, long end) {
        this.start = start;
        this.end = end;
    }

    public static TimeRange of(long start, long end) {
        return new TimeRange(start, end);
    }

    public long getStart() {
        return start;
    }

    public long getEnd() {
        return end;
    }
}
