package fulgurite.jmh;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** What Fulgurite must reach from Java. Raising a bar changes one line of {@link #ALL}. */
final class Bars {
    private static final String FULGURITE = "fulgurite";

    /** Every bar: times of a rival's time at least, or nanoseconds above the same call from Rust at most. */
    private static final List<Bar> ALL = List.of(
            Bar.beside("get", "lmdbjava", 3.0),
            Bar.beside("getMany", "lmdbjava", 6.0),
            Bar.beside("scan", "lmdbjava", 2.0),
            Bar.beside("putBatch", "rocksdbjni", 3.0),
            Bar.crossing("get", 30.0),
            Bar.crossing("scan", 3.0));

    /** A line for each bar whose figures were measured, and a last line that counts them. */
    final List<String> lines = new ArrayList<>();

    private int met;
    private int measured;

    /** Judges what was measured. */
    Bars(Figures figures) {
        for (String records : figures.records()) {
            for (Bar bar : ALL) {
                judge(bar, figures, records);
            }
        }
        int absent = ALL.size() * Math.max(1, figures.records().size()) - measured;
        String rest = absent > 0 ? " (" + absent + " more not measured)" : "";
        lines.add("bars: " + met + " of " + measured + " met" + rest);
    }

    boolean allMet() {
        return met == measured;
    }

    private void judge(Bar bar, Figures figures, String records) {
        double own = figures.of(records, bar.benchmark, FULGURITE);
        double other = figures.of(records, bar.benchmark, bar.other);
        if (Double.isNaN(own) || Double.isNaN(other)) {
            return;
        }
        double value = bar.isCrossing ? own - other : other / own;
        boolean isMet = bar.isCrossing ? value <= bar.limit : value >= bar.limit;
        measured++;
        met += isMet ? 1 : 0;
        String verdict = isMet ? "met    " : "MISSED ";
        String format = bar.isCrossing
                ? "crossing of %s, %s records: %.2f ns (bar ≤ %s; %.1f ns from Java, %.1f from Rust)"
                : "%s, %s records, beside " + bar.other + ": %.2f × (bar ≥ %s; %.1f ns, %.1f of the other)";
        lines.add(verdict + String.format(Locale.ROOT, format, bar.benchmark, records, value, bar.limit, own, other));
    }

    private static final class Bar {
        final String benchmark;
        final String other;
        final boolean isCrossing;
        final double limit;

        private Bar(String benchmark, String other, boolean isCrossing, double limit) {
            this.benchmark = benchmark;
            this.other = other;
            this.isCrossing = isCrossing;
            this.limit = limit;
        }

        static Bar beside(String benchmark, String rival, double timesAtLeast) {
            return new Bar(benchmark, rival, false, timesAtLeast);
        }

        static Bar crossing(String benchmark, double nanosecondsAtMost) {
            return new Bar(benchmark, Crossing.RUST, true, nanosecondsAtMost);
        }
    }
}
