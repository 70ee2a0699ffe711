package org.fulgurite.geaflow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.geaflow.common.iterator.CloseableIterator;
import org.apache.geaflow.common.tuple.Tuple;
import org.apache.geaflow.common.type.IType;
import org.apache.geaflow.model.graph.edge.EdgeDirection;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.data.DataType;
import org.apache.geaflow.state.data.OneDegreeGraph;
import org.apache.geaflow.state.pushdown.filter.IFilter;
import org.apache.geaflow.state.pushdown.filter.inner.EmptyGraphFilter;
import org.apache.geaflow.state.pushdown.filter.inner.IGraphFilter;
import org.apache.geaflow.store.api.graph.IDynamicGraphStore;
import org.apache.geaflow.store.api.graph.IStaticGraphStore;
import org.fulgurite.geaflow.samples.Conditions;
import org.fulgurite.geaflow.samples.Elements;
import org.fulgurite.geaflow.samples.Elements.Link;
import org.fulgurite.geaflow.samples.Elements.Node;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Random elements of graphs, and every read with random conditions, beside a model that keeps all in lists. */
class GraphModelTest extends WithRandomJob {
    private static final int OPERATIONS = 1_000;
    private static final List<String> LABELS = Arrays.asList("", "knows", "likes", "\u0000", "x\u0001\bx");
    private static final long START = 1_000;
    private static final long CYCLE = 100;

    /** Ids that contain each other, zeros, and the delimiter of GeaFlow's keys. */
    private static final List<String> TEXTS = Arrays.asList(
            "", "a", "a\u0001\b", "a\u0001\bb", "\u0001\b", "\0", "a\0", "a\0b", "b", "\u00FF", "\u00FF\u00FF", "\u0001");

    private static final List<Long> NUMBERS =
            Arrays.asList(0L, 1L, -1L, 255L, 256L, 264L, Long.MIN_VALUE, Long.MAX_VALUE, 0x0108_0108_0108_0108L);

    private <T> T oneOf(List<T> values) {
        return values.get(random.nextInt(values.size()));
    }

    private long time() {
        return START - 150 + random.nextInt(600);
    }

    private String value() {
        char[] letters = new char[random.nextInt(40) == 0 ? 9_000 : random.nextInt(8)];
        Arrays.fill(letters, (char) ('a' + random.nextInt(26)));
        return new String(letters);
    }

    private <K> Node<K> node(List<K> ids) {
        return new Node<>(oneOf(ids), oneOf(LABELS), time(), value());
    }

    private <K> Link<K> link(List<K> ids) {
        EdgeDirection direction = random.nextBoolean() ? EdgeDirection.IN : EdgeDirection.OUT;
        return new Link<>(oneOf(ids), oneOf(ids), direction, oneOf(LABELS), time(), value());
    }

    private IGraphFilter condition(int depth) {
        long start = time();
        switch (random.nextInt(depth == 0 ? 8 : 10)) {
            case 0:
                return Conditions.edgeLabels(oneOf(LABELS), oneOf(LABELS));
            case 1:
                return Conditions.vertexLabels(oneOf(LABELS), oneOf(LABELS));
            case 2:
                return Conditions.edgeTimes(start, start + random.nextInt(300));
            case 3:
                return Conditions.vertexTimes(start, start + random.nextInt(300));
            case 4:
                return Conditions.outgoing();
            case 5:
                return Conditions.withVertex();
            case 6:
                return Conditions.shortValues();
            case 7:
                return EmptyGraphFilter.of();
            case 8:
                return Conditions.and(condition(depth - 1), condition(depth - 1));
            default:
                return Conditions.or(condition(depth - 1), condition(depth - 1));
        }
    }

    private long limit() {
        return random.nextInt(3) == 0 ? random.nextInt(4) : Long.MAX_VALUE;
    }

    /** What a store of one graph must return, without a store's tables, keys and scans. */
    private static final class Model<K> {
        private final IType<K> type;
        private final String partitions;

        /** By partition and id. */
        private final Map<String, Map<K, Node<K>>> vertices = new TreeMap<>();

        /** By source, and then by the bytes of the key. */
        private final Map<K, Map<String, Link<K>>> edges = new HashMap<>();

        Model(IType<K> type, String partitions) {
            this.type = type;
            this.partitions = partitions;
        }

        void add(Node<K> node) {
            String partition = partitions.equals("label")
                    ? node.getLabel()
                    : partitions.equals("dt")
                            ? String.format("%05d", 50_000 + Math.floorDiv(node.getTime() - START, CYCLE))
                            : "";
            vertices.computeIfAbsent(partition, absent -> new HashMap<>()).put(node.getId(), node);
        }

        void add(Link<K> link) {
            StringBuilder key = new StringBuilder();
            for (byte octet : Elements.encoder(type, false).getEdgeEncoder().format(link).f0) {
                key.append(String.format("%02x", octet));
            }
            edges.computeIfAbsent(link.getSrcId(), absent -> new TreeMap<>()).put(key.toString(), link);
        }

        Set<K> ids() {
            return vertices.values().stream().flatMap(map -> map.keySet().stream()).collect(Collectors.toSet());
        }

        List<Node<K>> vertices(IGraphFilter filter) {
            return vertices.values().stream()
                    .flatMap(map -> map.values().stream())
                    .filter(filter::filterVertex)
                    .collect(Collectors.toList());
        }

        Node<K> vertex(K id, IGraphFilter filter) {
            return vertices.values().stream()
                    .map(map -> map.get(id))
                    .filter(node -> node != null && filter.filterVertex(node))
                    .findFirst()
                    .orElse(null);
        }

        List<Link<K>> edges(K source, IGraphFilter filter, long out, long in) {
            List<Link<K>> kept = new ArrayList<>();
            long[] left = {out, in};
            for (Link<K> link : edges.getOrDefault(source, new HashMap<>()).values()) {
                if (filter.filterEdge(link) && left[link.getDirect() == EdgeDirection.OUT ? 0 : 1]-- > 0) {
                    kept.add(link);
                }
            }
            return kept;
        }

        /** The text of a one-degree graph, or null if the condition does not keep it. */
        String graph(K id, IGraphFilter filter, long out, long in) {
            Node<K> vertex = vertex(id, filter);
            List<Link<K>> kept = edges(id, filter, out, in);
            boolean isKept = filter.filterOneDegreeGraph(new OneDegreeGraph<>(id, vertex, null));
            return isKept ? text(id, vertex, kept) : null;
        }
    }

    private static String text(Object id, Object vertex, List<?> edges) {
        return id + ": " + vertex + " " + edges;
    }

    private static <T> List<T> all(CloseableIterator<T> iterator) {
        List<T> all = new ArrayList<>();
        try (CloseableIterator<T> open = iterator) {
            while (open.hasNext()) {
                assertTrue(open.hasNext());
                all.add(open.next());
            }
        }
        return all;
    }

    private static List<String> sorted(List<?> elements) {
        return elements.stream().map(String::valueOf).sorted().collect(Collectors.toList());
    }

    private static <K> String text(OneDegreeGraph<K, String, String> graph) {
        return text(graph.getKey(), graph.getVertex(), all(graph.getEdgeIterator()));
    }

    /** Edges of a scan: those of a source come one after the other, in their order. */
    private static <K> Map<K, List<String>> bySource(Iterator<IEdge<K, String>> edges) {
        Map<K, List<String>> bySource = new LinkedHashMap<>();
        K last = null;
        while (edges.hasNext()) {
            IEdge<K, String> edge = edges.next();
            List<String> ofSource = bySource.computeIfAbsent(edge.getSrcId(), absent -> new ArrayList<>());
            assertTrue(ofSource.isEmpty() || edge.getSrcId().equals(last), "edges of a source are apart");
            last = edge.getSrcId();
            ofSource.add(edge.toString());
        }
        return bySource;
    }

    @ParameterizedTest
    @CsvSource({
        "none, text, true", "none, text, false", "label, text, true", "dt, text, false",
        "none, number, true", "none, number, false", "label, number, false", "dt, number, true"
    })
    void everyReadOfAGraphIsAsInTheModel(String partitions, String ids, boolean ofGeaFlow) {
        isEncoderOfGeaFlow = ofGeaFlow;
        configuration.put("geaflow.store.rocksdb.graph.store.partition.type", partitions);
        configuration.put("geaflow.store.fulgurite.graph.store.dt.start", Long.toString(START));
        configuration.put("geaflow.store.lmdb.graph.store.dt.cycle", Long.toString(CYCLE));
        if (ids.equals("text")) {
            everyReadOfAGraphIsAsInTheModel(partitions, Elements.TEXTS, TEXTS);
        } else {
            everyReadOfAGraphIsAsInTheModel(partitions, Elements.NUMBERS, NUMBERS);
        }
    }

    private <K> void everyReadOfAGraphIsAsInTheModel(String partitions, IType<K> type, List<K> ids) {
        Model<K> model = new Model<>(type, partitions);
        IStaticGraphStore<K, String, String> store = graph(type);
        for (int step = 0; step < OPERATIONS; step++) {
            if (random.nextInt(3) == 0) {
                Node<K> node = node(ids);
                store.addVertex(node);
                model.add(node);
            } else {
                Link<K> link = link(ids);
                store.addEdge(link);
                model.add(link);
            }
            if (isReplaced(store)) {
                store = recovered(graph(type));
            }
            IGraphFilter filter = condition(2);
            long out = limit();
            long in = out == Long.MAX_VALUE ? out : limit();
            checkOne(store, model, oneOf(ids), filter, out, in);
            if (step % 10 == 0) {
                checkAll(store, model, ids, filter, out, in);
                checkSome(store, model, ids, filter, out, in);
            }
        }
    }

    private static <K, T, R> Conditions<K, T, R> pushDown(IFilter<?> filter, long out, long in) {
        Conditions<K, T, R> conditions = Conditions.of(filter);
        return out == Long.MAX_VALUE && in == out ? conditions : conditions.limit(out, in);
    }

    private static <K> void checkOne(
            IStaticGraphStore<K, String, String> store, Model<K> model, K id, IGraphFilter filter, long out, long in) {
        Conditions<K, ?, ?> pushDown = pushDown(filter, out, in);
        assertEquals(String.valueOf(model.vertex(id, filter)), String.valueOf(store.getVertex(id, pushDown)));
        assertEquals(model.edges(id, filter, out, in).toString(), store.getEdges(id, pushDown).toString());
        OneDegreeGraph<K, String, String> graph = store.getOneDegreeGraph(id, pushDown);
        assertEquals(model.graph(id, filter, out, in), graph == null ? null : text(graph));
    }

    private static <K> void checkAll(
            IStaticGraphStore<K, String, String> store,
            Model<K> model,
            List<K> ids,
            IGraphFilter filter,
            long out,
            long in) {
        Conditions<K, IEdge<K, String>, String> pushDown = pushDown(filter, out, in);
        List<K> found = all(store.vertexIDIterator());
        assertEquals(model.ids(), new HashSet<>(found));
        assertEquals(model.ids().size(), found.size());
        assertEquals(sorted(model.vertices(filter)), sorted(all(store.getVertexIterator(pushDown))));

        Map<K, List<String>> edges = bySource(store.getEdgeIterator(pushDown));
        Map<K, Long> counts = new HashMap<>();
        List<String> graphs = new ArrayList<>();
        List<String> projected = new ArrayList<>();
        for (K id : ids) {
            List<Link<K>> kept = model.edges(id, filter, out, in);
            assertEquals(kept.toString(), edges.getOrDefault(id, new ArrayList<>()).toString());
            if (!kept.isEmpty()) {
                counts.put(id, (long) kept.size());
            }
            if (!kept.isEmpty() || model.vertex(id, filter) != null) {
                String graph = model.graph(id, filter, out, in);
                graphs.addAll(graph == null ? new ArrayList<>() : Arrays.asList(graph));
            }
            kept.forEach(link -> projected.add(id + " " + link.getValue()));
        }
        assertEquals(counts, store.getAggResult(pushDown));
        assertEquals(
                sorted(graphs),
                sorted(all(store.getOneDegreeGraphIterator(pushDown)).stream()
                        .map(graph -> text(graph))
                        .collect(Collectors.toList())));
        pushDown.projector(edge -> edge.getValue());
        List<Tuple<K, String>> values = all(store.getEdgeProjectIterator(pushDown));
        assertEquals(
                sorted(projected),
                sorted(values.stream().map(value -> value.f0 + " " + value.f1).collect(Collectors.toList())));
    }

    /** Reads of some ids, each with the same condition or with one of its own. */
    private <K> void checkSome(
            IStaticGraphStore<K, String, String> store,
            Model<K> model,
            List<K> ids,
            IGraphFilter filter,
            long out,
            long in) {
        List<K> some = Arrays.asList(oneOf(ids), oneOf(ids), oneOf(ids));
        Map<K, IFilter<?>> filters = new HashMap<>();
        some.forEach(id -> filters.put(id, random.nextBoolean() ? condition(1) : filter));
        Conditions<K, IEdge<K, String>, String> pushDown = pushDown(EmptyGraphFilter.of(), out, in);
        pushDown.of(filters).projector(edge -> edge.getValue());
        List<Node<K>> vertices = new ArrayList<>();
        List<Link<K>> edges = new ArrayList<>();
        List<String> graphs = new ArrayList<>();
        Map<K, Long> counts = new HashMap<>();
        for (K id : some) {
            IGraphFilter own = (IGraphFilter) filters.get(id);
            Node<K> vertex = model.vertex(id, own);
            vertices.addAll(vertex == null ? new ArrayList<>() : Arrays.asList(vertex));
            List<Link<K>> kept = model.edges(id, own, out, in);
            edges.addAll(kept);
            counts.put(id, (long) kept.size());
            String graph = model.graph(id, own, out, in);
            graphs.addAll(graph == null ? new ArrayList<>() : Arrays.asList(graph));
        }
        assertEquals(vertices.toString(), all(store.getVertexIterator(some, pushDown)).toString());
        assertEquals(edges.toString(), all(store.getEdgeIterator(some, pushDown)).toString());
        assertEquals(counts, store.getAggResult(some, pushDown));
        assertEquals(
                graphs,
                all(store.getOneDegreeGraphIterator(some, pushDown)).stream()
                        .map(graph -> text(graph))
                        .collect(Collectors.toList()));
        assertEquals(
                edges.stream().map(Link::getValue).collect(Collectors.toList()),
                all(store.getEdgeProjectIterator(some, pushDown)).stream()
                        .map(value -> value.f1)
                        .collect(Collectors.toList()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"text", "number"})
    void everyReadOfAVersionIsAsInTheModel(String ids) {
        if (ids.equals("text")) {
            everyReadOfAVersionIsAsInTheModel(Elements.TEXTS, TEXTS);
        } else {
            everyReadOfAVersionIsAsInTheModel(Elements.NUMBERS, NUMBERS);
        }
    }

    private <K> void everyReadOfAVersionIsAsInTheModel(IType<K> type, List<K> ids) {
        List<Long> versions = Arrays.asList(0L, 1L, 2L, 264L, Long.MAX_VALUE);
        Map<Long, Model<K>> models = new HashMap<>();
        versions.forEach(version -> models.put(version, new Model<>(type, "none")));
        IDynamicGraphStore<K, String, String> store = versions(type);
        for (int step = 0; step < OPERATIONS; step++) {
            long changed = oneOf(versions);
            if (random.nextInt(3) == 0) {
                Node<K> node = node(ids);
                store.addVertex(changed, node);
                models.get(changed).add(node);
            } else {
                Link<K> link = link(ids);
                store.addEdge(changed, link);
                models.get(changed).add(link);
            }
            if (isReplaced(store)) {
                store = recovered(versions(type));
            }
            long version = oneOf(versions);
            IGraphFilter filter = condition(2);
            long out = limit();
            long in = out == Long.MAX_VALUE ? out : limit();
            checkVersion(store, models.get(version), version, oneOf(ids), filter, out, in);
            checkVersions(store, models, oneOf(ids), filter);
            if (step % 10 == 0) {
                checkVersion(store, models.get(version), version, ids, filter, out, in);
            }
        }
    }

    private static <K> void checkVersion(
            IDynamicGraphStore<K, String, String> store,
            Model<K> model,
            long version,
            K id,
            IGraphFilter filter,
            long out,
            long in) {
        Conditions<K, ?, ?> pushDown = pushDown(filter, out, in);
        assertEquals(String.valueOf(model.vertex(id, filter)), String.valueOf(store.getVertex(version, id, pushDown)));
        assertEquals(
                model.edges(id, filter, out, in).toString(),
                store.getEdges(version, id, pushDown).toString());
        OneDegreeGraph<K, String, String> graph = store.getOneDegreeGraph(version, id, pushDown);
        assertEquals(model.graph(id, filter, out, in), graph == null ? null : text(graph));
    }

    private static <K> void checkVersions(
            IDynamicGraphStore<K, String, String> store, Map<Long, Model<K>> models, K id, IGraphFilter filter) {
        List<Long> versions = new ArrayList<>();
        Map<Long, String> vertices = new HashMap<>();
        Set<K> allIds = new HashSet<>();
        models.forEach((version, model) -> {
            allIds.addAll(model.ids());
            if (model.vertex(id, EmptyGraphFilter.of()) != null) {
                versions.add(version);
            }
            IVertex<K, String> vertex = model.vertex(id, filter);
            if (vertex != null) {
                vertices.put(version, vertex.toString());
            }
        });
        versions.sort((left, right) -> Long.compare(right, left));
        assertEquals(versions, store.getAllVersions(id, DataType.V));
        assertEquals(versions.isEmpty() ? -1 : versions.get(0), store.getLatestVersion(id, DataType.V_TOPO));
        Map<Long, String> found = new HashMap<>();
        store.getAllVersionData(id, Conditions.of(filter), DataType.V)
                .forEach((version, vertex) -> found.put(version, vertex.toString()));
        assertEquals(vertices, found);
        List<K> ids = all(store.vertexIDIterator());
        assertEquals(allIds, new HashSet<>(ids));
        assertEquals(allIds.size(), ids.size());
    }

    private static <K> void checkVersion(
            IDynamicGraphStore<K, String, String> store,
            Model<K> model,
            long version,
            List<K> ids,
            IGraphFilter filter,
            long out,
            long in) {
        Conditions<K, ?, ?> pushDown = pushDown(filter, out, in);
        assertEquals(
                sorted(model.vertices(filter).stream().map(Node::getId).collect(Collectors.toList())),
                sorted(all(store.vertexIDIterator(version, Conditions.of(filter)))));
        assertEquals(sorted(model.vertices(filter)), sorted(all(store.getVertexIterator(version, pushDown))));
        Map<K, List<String>> edges = bySource(store.getEdgeIterator(version, pushDown));
        List<String> graphs = new ArrayList<>();
        List<Node<K>> vertices = new ArrayList<>();
        for (K id : ids) {
            assertEquals(
                    model.edges(id, filter, out, in).toString(),
                    edges.getOrDefault(id, new ArrayList<>()).toString());
            if (edges.containsKey(id) || model.vertex(id, filter) != null) {
                String graph = model.graph(id, filter, out, in);
                graphs.addAll(graph == null ? new ArrayList<>() : Arrays.asList(graph));
            }
            Node<K> vertex = model.vertex(id, filter);
            vertices.addAll(vertex == null ? new ArrayList<>() : Arrays.asList(vertex));
        }
        assertEquals(
                sorted(graphs),
                sorted(all(store.getOneDegreeGraphIterator(version, pushDown)).stream()
                        .map(graph -> text(graph))
                        .collect(Collectors.toList())));
        assertEquals(vertices.toString(), all(store.getVertexIterator(version, ids, pushDown)).toString());
        assertNull(store.getVertex(version == 0 ? 77 : version - 1_000_000, ids.get(0), pushDown));
    }
}
