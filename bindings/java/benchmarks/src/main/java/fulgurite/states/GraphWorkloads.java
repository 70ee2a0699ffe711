package fulgurite.states;

import fulgurite.states.Workload.Bar;
import fulgurite.states.Workload.Session;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.ToLongBiFunction;
import org.apache.geaflow.model.graph.edge.EdgeDirection;
import org.fulgurite.geaflow.samples.Elements.Link;
import org.fulgurite.geaflow.samples.Elements.Node;

/** A graph whose vertices have ten edges each: a static one, and one version of a dynamic one. */
final class GraphWorkloads {
    private static final int SEED = 7;
    private static final int DEGREE = 10;
    private static final double ONE_DEGREE_PART = 1.0 / 3;

    private GraphWorkloads() {}

    static List<Workload> all(int vertices, int operations) {
        List<Workload> all = new ArrayList<>();
        for (boolean isDynamic : Arrays.asList(false, true)) {
            String kind = isDynamic ? "dynamic" : "static";
            Workload.Opening additions = opening(isDynamic, vertices, operations, (graph, id) -> {
                graph.graph.add(link(id, graph.random.nextInt(vertices)));
                return 0;
            });
            String added = "an edge, of " + vertices + " vertices";
            all.add(new Workload(kind + "_add_edge", added, Workload.Renewed.of(operations, additions)));
            all.add(reads(kind + "_vertex", "a vertex by its id", isDynamic, vertices, operations, (graph, id) ->
                    graph.graph.vertex(id).getValue().length()));
            all.add(reads(kind + "_edges", "the edges of a vertex", isDynamic, vertices, operations / 10, (graph, id) ->
                    graph.graph.edges(id)));
            all.add(reads(
                    kind + "_one_degree", "a vertex with its edges", isDynamic, vertices, operations / 10, (graph, id) ->
                            graph.graph.oneDegree(id)).bar(Bar.ratio(ONE_DEGREE_PART)));
            all.add(new Workload(
                    kind + "_one_degree_scan",
                    "a vertex with its edges, in a scan of all " + vertices,
                    (states, directory) -> new Loaded(
                            isDynamic ? states.versions(directory) : states.graph(directory), vertices, vertices) {
                        @Override
                        long run() {
                            long sum = 0;
                            for (Iterator<Long> sums = graph.scan(); sums.hasNext(); ) {
                                sum += sums.next();
                            }
                            return sum;
                        }
                    }).bar(Bar.ratio(ONE_DEGREE_PART)));
        }
        return all;
    }

    private static Workload reads(
            String name,
            String about,
            boolean isDynamic,
            int vertices,
            int operations,
            ToLongBiFunction<Loaded, Long> operate) {
        return new Workload(
                name, about + ", of " + vertices + " vertices", opening(isDynamic, vertices, operations, operate));
    }

    private static Workload.Opening opening(
            boolean isDynamic, int vertices, int operations, ToLongBiFunction<Loaded, Long> operate) {
        return (states, directory) ->
                new Loaded(isDynamic ? states.versions(directory) : states.graph(directory), vertices, operations) {
                    @Override
                    long run() {
                        long sum = 0;
                        for (int operation = 0; operation < operations; operation++) {
                            sum += operate.applyAsLong(this, (long) random.nextInt(vertices));
                        }
                        return sum;
                    }
                };
    }

    private static Link<Long> link(long source, long target) {
        return new Link<>(source, target, EdgeDirection.OUT, "knows", target % 1000, "since " + target);
    }

    private abstract static class Loaded extends Session {
        final Graph graph;
        final SplittableRandom random = new SplittableRandom(SEED);

        Loaded(Graph graph, int vertices, int operations) {
            super(operations);
            this.graph = graph;
            for (long id = 0; id < vertices; id++) {
                graph.add(new Node<>(id, "person", id % 1000, "value of " + id));
                for (int edge = 0; edge < DEGREE; edge++) {
                    graph.add(link(id, random.nextInt(vertices)));
                }
            }
            graph.flush();
        }

        @Override
        public void close() {
            graph.close();
        }
    }
}
