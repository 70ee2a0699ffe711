package org.fulgurite.geaflow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.AbstractMap.SimpleEntry;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.zip.GZIPInputStream;
import org.apache.geaflow.model.graph.edge.EdgeDirection;
import org.apache.geaflow.store.api.graph.IStaticGraphStore;
import org.fulgurite.geaflow.samples.Conditions;
import org.fulgurite.geaflow.samples.Elements;
import org.fulgurite.geaflow.samples.Elements.Link;
import org.fulgurite.geaflow.samples.Elements.Node;
import org.junit.jupiter.api.Test;

/**
 * Shortest paths over the dependencies of Debian's packages, read from a store and from a map.
 *
 * <p>The packages are an excerpt. {@code -DargLine=-Dfulgurite.packages=FILE} takes those of another file, which may be
 * the whole index: {@code apt-cache dumpavail | gzip > FILE}. Then the paths from 100 more packages are compared.
 */
class ShortestPathsTest extends WithJob {
    private static final String EXCERPT = "../../../data/debian/packages.gz";
    private static final String PACKAGES = System.getProperty("fulgurite.packages", EXCERPT);

    /** The targets of each package, and the distance to each of them. */
    private static Map<String, Map<String, Long>> dependencies() throws IOException {
        Map<String, Map<String, Long>> dependencies = new HashMap<>();
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(
                new GZIPInputStream(Files.newInputStream(Paths.get(PACKAGES))), StandardCharsets.UTF_8))) {
            String name = "";
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith("Package: ")) {
                    name = line.substring("Package: ".length());
                    dependencies.put(name, new HashMap<>());
                } else if (line.startsWith("Depends: ")) {
                    for (String relation : line.substring("Depends: ".length()).split("[,|] *")) {
                        String target = relation.trim().split("[ :]")[0];
                        dependencies.get(name).put(target, 1L + target.length() % 7);
                    }
                }
            }
        }
        return dependencies;
    }

    /** The distances from a package, by Dijkstra's algorithm. */
    private static Map<String, Long> distances(String from, Function<String, Map<String, Long>> neighbours) {
        Map<String, Long> distances = new HashMap<>();
        PriorityQueue<Map.Entry<String, Long>> queue =
                new PriorityQueue<>(Comparator.comparing(Map.Entry<String, Long>::getValue));
        queue.add(new SimpleEntry<>(from, 0L));
        while (!queue.isEmpty()) {
            Map.Entry<String, Long> nearest = queue.poll();
            if (distances.putIfAbsent(nearest.getKey(), nearest.getValue()) == null) {
                neighbours.apply(nearest.getKey()).forEach((target, distance) -> queue.add(
                        new SimpleEntry<>(target, nearest.getValue() + distance)));
            }
        }
        return distances;
    }

    @Test
    void distancesAreTheSameInAStoreAndInAMap() throws IOException {
        Map<String, Map<String, Long>> dependencies = dependencies();
        IStaticGraphStore<String, String, String> store = graph(Elements.TEXTS);
        dependencies.forEach((name, targets) -> {
            store.addVertex(new Node<>(name, "package", 0, ""));
            targets.forEach((target, distance) -> store.addEdge(
                    new Link<>(name, target, EdgeDirection.OUT, "depends", 0, Long.toString(distance))));
        });
        store.archive(1);
        store.drop();
        store.recovery(1);
        Function<String, Map<String, Long>> stored = name -> store.getEdges(name, Conditions.none()).stream()
                .collect(Collectors.toMap(edge -> edge.getTargetId(), edge -> Long.parseLong(edge.getValue())));
        List<String> sources = new ArrayList<>(Arrays.asList("gnome", "kde-standard", "apache2"));
        if (!PACKAGES.equals(EXCERPT)) {
            int step = Math.max(1, dependencies.size() / 100);
            List<String> names = dependencies.keySet().stream().sorted().collect(Collectors.toList());
            for (int place = 0; place < names.size(); place += step) {
                sources.add(names.get(place));
            }
        }
        long compared = 0;
        for (String source : sources) {
            Map<String, Long> expected =
                    distances(source, name -> dependencies.getOrDefault(name, new HashMap<>()));
            assertEquals(expected, distances(source, stored));
            compared += expected.size();
        }
        assertTrue(compared > 10 * 3, "the sources reach " + compared);
        long relations = dependencies.values().stream().mapToLong(Map::size).sum();
        System.out.println(dependencies.size() + " packages, " + relations + " dependencies: " + compared
                + " distances from " + sources.size() + " packages are the same in the store and in memory");
    }
}
