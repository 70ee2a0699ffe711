package fulgurite.jmh;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Nanoseconds of one record, by the records that are loaded, benchmark and engine. */
final class Figures {
    private final Map<String, Map<String, List<Double>>> all = new TreeMap<>();

    void add(String records, String benchmark, String engine, double nanoseconds) {
        Map<String, List<Double>> figures = all.computeIfAbsent(records, absent -> new HashMap<>());
        figures.computeIfAbsent(benchmark + " " + engine, absent -> new ArrayList<>()).add(nanoseconds);
    }

    /** The numbers of records with which something was measured. */
    Set<String> records() {
        return all.keySet();
    }

    /** The mean of a benchmark's figures, or not a number if it was not measured. */
    double of(String records, String benchmark, String engine) {
        List<Double> found = all.getOrDefault(records, Map.of()).getOrDefault(benchmark + " " + engine, List.of());
        return found.stream().mapToDouble(Double::doubleValue).average().orElse(Double.NaN);
    }
}
