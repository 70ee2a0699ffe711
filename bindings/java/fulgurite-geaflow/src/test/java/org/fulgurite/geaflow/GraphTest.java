package org.fulgurite.geaflow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.apache.geaflow.common.iterator.CloseableIterator;
import org.apache.geaflow.model.graph.edge.EdgeDirection;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.DataModel;
import org.apache.geaflow.state.data.DataType;
import org.apache.geaflow.state.data.OneDegreeGraph;
import org.apache.geaflow.state.graph.encoder.EdgeAtom;
import org.apache.geaflow.state.pushdown.filter.inner.EmptyGraphFilter;
import org.apache.geaflow.state.pushdown.filter.inner.IGraphFilter;
import org.apache.geaflow.state.pushdown.inner.CodeGenFilterConverter;
import org.apache.geaflow.state.pushdown.inner.DirectFilterConverter;
import org.apache.geaflow.store.api.graph.IDynamicGraphStore;
import org.apache.geaflow.store.api.graph.IStaticGraphStore;
import org.apache.geaflow.store.api.key.IKVStatefulStore;
import org.fulgurite.geaflow.samples.Conditions;
import org.fulgurite.geaflow.samples.Elements;
import org.fulgurite.geaflow.samples.Elements.Link;
import org.fulgurite.geaflow.samples.Elements.Node;
import org.junit.jupiter.api.Test;

/** What stores of graphs do beside single reads and writes. */
class GraphTest extends WithJob {
    private static Node<String> node(String id) {
        return new Node<>(id, "label", 1, "value of " + id);
    }

    private static Link<String> link(String source, String target) {
        return new Link<>(source, target, EdgeDirection.OUT, "label", 1, "");
    }

    private static int count(CloseableIterator<?> iterator) {
        int count = 0;
        for (; iterator.hasNext(); count++) {
            iterator.next();
        }
        return count;
    }

    private static void refused(String message, Runnable call) {
        GeaflowRuntimeException thrown = assertThrows(GeaflowRuntimeException.class, call::run);
        assertTrue(thrown.getMessage().contains(message), thrown.getMessage());
    }

    @Test
    void aScanReadsTheStateOfItsBeginning() {
        IStaticGraphStore<String, String, String> store = graph(Elements.TEXTS);
        for (int number = 0; number < 3_000; number++) {
            store.addVertex(node("v" + number));
            store.addEdge(link("v" + number, "w"));
        }
        CloseableIterator<String> ids = store.vertexIDIterator();
        CloseableIterator<IEdge<String, String>> edges = store.getEdgeIterator(Conditions.none());
        CloseableIterator<OneDegreeGraph<String, String, String>> graphs =
                store.getOneDegreeGraphIterator(Conditions.none());
        store.addVertex(node("later"));
        store.addEdge(link("later", "w"));
        store.flush();
        assertEquals(3_000, count(ids));
        assertEquals(3_000, count(edges));
        assertEquals(3_000, count(graphs));
        assertFalse(ids.hasNext());
        assertThrows(NoSuchElementException.class, ids::next);
        ids.close();
        assertEquals(3_001, count(store.vertexIDIterator()));
        // One is closed early.
        CloseableIterator<IVertex<String, String>> closed = store.getVertexIterator(Conditions.none());
        closed.next();
        closed.close();
        assertFalse(closed.hasNext());
    }

    @Test
    void theSnapshotsOfAbandonedScansAreReleased() throws InterruptedException {
        Gauges gauges = new Gauges();
        IStaticGraphStore<String, String, String> store = graph(Elements.TEXTS);
        store.init(context(0).withMetricGroup(gauges));
        List<CloseableIterator<IVertex<String, String>>> scans = new ArrayList<>();
        for (int round = 0; round < 6; round++) {
            rewrite(store, round);
            CloseableIterator<IVertex<String, String>> scan = store.getVertexIterator(Conditions.none());
            scan.next();
            scans.add(scan);
        }
        rewrite(store, 6);
        store.archive(1);
        long held = gauges.of("snapshotBytes");
        assertTrue(held > 5_000_000, held + " bytes for six scans of a million bytes each");
        // They are neither closed nor at their end.
        scans.clear();
        long left = held;
        for (int turn = 0; turn < 100 && left > held / 3; turn++) {
            System.gc();
            Thread.sleep(20);
            store.addVertex(node("turn " + turn));
            store.compact();
            store.archive(2 + turn);
            left = gauges.of("snapshotBytes");
        }
        assertTrue(left <= held / 3, left + " bytes of " + held);
    }

    /** Gives 2,000 vertices new values of 500 bytes, in the file and not only in the log. */
    private static void rewrite(IStaticGraphStore<String, String, String> store, int round) {
        String value = new String(new char[500]).replace('\0', (char) ('a' + round));
        for (int number = 0; number < 2_000; number++) {
            store.addVertex(new Node<>("v" + number, "label", 1, value));
        }
        store.compact();
    }

    @Test
    void otherThreadsReadWhatIsNotFlushed() throws InterruptedException, ExecutionException {
        IStaticGraphStore<String, String, String> store = graph(Elements.TEXTS);
        ExecutorService reader = Executors.newSingleThreadExecutor();
        try {
            for (int number = 0; number < 2_000; number++) {
                String id = "v" + number;
                store.addVertex(node(id));
                store.addEdge(link(id, "w"));
                OneDegreeGraph<String, String, String> found =
                        reader.submit(() -> store.getOneDegreeGraph(id, Conditions.none())).get();
                assertEquals("value of " + id, found.getVertex().getValue());
                assertEquals(1, count(found.getEdgeIterator()));
            }
        } finally {
            reader.shutdown();
        }
    }

    @Test
    void anInstanceForReadingOpensTheSameShard() {
        IStaticGraphStore<String, String, String> writer = graph(Elements.TEXTS);
        writer.addVertex(node("a"));
        writer.archive(1);
        IStaticGraphStore<String, String, String> first = graph(Elements.TEXTS);
        first.recovery(1);
        CloseableIterator<String> scan = first.vertexIDIterator();
        writer.addVertex(node("b"));
        writer.archive(2);
        // GeaFlow opens the next version beside the one that is read.
        IStaticGraphStore<String, String, String> second = graph(Elements.TEXTS);
        second.recovery(2);
        assertEquals(1, count(scan));
        assertNull(first.getVertex("b", Conditions.none()));
        assertEquals("value of b", second.getVertex("b", Conditions.none()).getValue());
        first.close();
        first.drop();
        assertEquals("value of a", writer.getVertex("a", Conditions.none()).getValue());
        assertEquals(2, count(second.vertexIDIterator()));
        // The writer's directory is free again, and goes to the one that asks for it next.
        writer.close();
        IStaticGraphStore<String, String, String> third = graph(Elements.TEXTS);
        writer.drop();
        assertEquals(2, count(third.vertexIDIterator()));
        second.drop();
        third.drop();
        assertFalse(Files.exists(local(0)));
        assertFalse(Files.exists(local(0).resolveSibling("0.2")));
    }

    @Test
    void graphsAreStoredBelowTheirNameWithoutTheJob() {
        IDynamicGraphStore<String, String, String> store = versions(Elements.TEXTS);
        store.addVertex(1, node("a"));
        store.archive(1);
        Path remote = directory.resolve("root").resolve(STATE).resolve("0");
        assertTrue(Files.exists(remote.resolve("meta.1/_commit")));
        refused("not of E", () -> store.getLatestVersion("a", DataType.E));
    }

    @Test
    void aFileThatWasWrittenWithOtherSettingsIsRefused() {
        graph(Elements.TEXTS).close();
        graph(Elements.TEXTS).close();
        refused("ids java.lang.String", () -> graph(Elements.NUMBERS));
        refused("of a graph", () -> versions(Elements.TEXTS));
        configuration.put("geaflow.store.fulgurite.graph.store.partition.type", "label");
        refused("partitions by label", () -> graph(Elements.TEXTS));
        configuration.put("geaflow.store.fulgurite.graph.store.partition.type", "month");
        refused("it must be none, label or dt", () -> graph(Elements.TEXTS));
        configuration.put("geaflow.store.fulgurite.graph.store.partition.type", "dt");
        configuration.put("geaflow.store.fulgurite.graph.store.dt.cycle", "0");
        refused("dt.cycle", () -> graph(Elements.TEXTS));
    }

    @Test
    void edgesComeInTheOrderOfTheirKeysOnly() {
        IStaticGraphStore<String, String, String> store = graph(Elements.TEXTS);
        store.addEdge(link("a", "b"));
        List<List<EdgeAtom>> kept = Arrays.asList(
                new ArrayList<>(), Arrays.asList(EdgeAtom.DIRECTION), Arrays.asList(EdgeAtom.DIRECTION, EdgeAtom.LABEL));
        for (List<EdgeAtom> order : kept) {
            assertEquals(1, store.getEdges("a", Conditions.none().order(order.toArray(new EdgeAtom[0]))).size());
        }
        refused("edge.order", () -> store.getEdges("a", Conditions.none().order(EdgeAtom.TIME)));
        refused(
                "edge.order",
                () -> store.getEdgeIterator(Conditions.none().order(EdgeAtom.DIRECTION, EdgeAtom.TIME)));
    }

    @Test
    void conditionsAreCompiledUnlessTheConfigurationForbidsIt() {
        IStaticGraphStore<String, String, String> store = graph(Elements.TEXTS);
        assertEquals(CodeGenFilterConverter.class, store.getFilterConverter().getClass());
        configuration.put("geaflow.store.filter.codegen.enable", "false");
        store.init(context(0));
        assertEquals(DirectFilterConverter.class, store.getFilterConverter().getClass());
        assertEquals(DataModel.values().length, new FulguriteStoreBuilder().supportedDataModel().size());
    }

    @Test
    void aCombinationOfNoConditionsKeepsEverything() {
        List<IGraphFilter> combinations = Arrays.asList(
                Conditions.and(),
                Conditions.or(),
                Conditions.and(Conditions.or(), EmptyGraphFilter.of()),
                Conditions.or(Conditions.or(), Conditions.edgeLabels("other")));
        for (String partitions : new String[] {"none", "label"}) {
            configuration.put("geaflow.store.fulgurite.graph.store.partition.type", partitions);
            IStaticGraphStore<String, String, String> store = graph(Elements.TEXTS);
            store.addVertex(node("a"));
            store.addEdge(link("a", "b"));
            store.addEdge(link("a", "c"));
            for (IGraphFilter filter : combinations) {
                assertEquals("value of a", store.getVertex("a", Conditions.of(filter)).getValue());
                assertEquals(2, store.getEdges("a", Conditions.of(filter)).size());
                assertEquals(2, count(store.getEdgeIterator(Conditions.of(filter))));
                assertEquals(1, count(store.getOneDegreeGraphIterator(Conditions.of(filter))));
                assertEquals(Collections.singletonMap("a", 2L), store.getAggResult(Conditions.of(filter)));
                assertEquals(1, store.getEdges("a", Conditions.of(filter).limit(1, 0)).size());
            }
            store.drop();
        }
    }

    @Test
    void aVertexIsReadWithoutConditions() {
        IStaticGraphStore<String, String, String> store = graph(Elements.TEXTS);
        store.addVertex(node("a"));
        assertEquals("value of a", store.getVertex("a", null).getValue());
    }

    @Test
    void aSourceOfManyEdgesIsSkippedAtItsLimit() {
        IStaticGraphStore<String, String, String> store = graph(Elements.TEXTS);
        for (int number = 0; number < 5_000; number++) {
            store.addEdge(link("a", "t" + number));
        }
        store.addEdge(link("a\0", "t"));
        store.addEdge(link("b", "t"));
        List<String> sources = new ArrayList<>();
        CloseableIterator<IEdge<String, String>> edges = store.getEdgeIterator(Conditions.none().limit(2, 0));
        while (edges.hasNext()) {
            sources.add(edges.next().getSrcId());
        }
        assertEquals(Arrays.asList("a", "a", "a\0", "b"), sources);
    }

    @Test
    void verticesThatSeveralThreadsAddFirstAreAllThere() throws InterruptedException, ExecutionException {
        configuration.put("geaflow.store.fulgurite.graph.store.partition.type", "label");
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            for (int round = 0; round < 30; round++) {
                IStaticGraphStore<String, String, String> store = graph(Elements.TEXTS);
                CyclicBarrier start = new CyclicBarrier(4);
                List<Future<?>> added = new ArrayList<>();
                for (int thread = 0; thread < 4; thread++) {
                    String name = "v" + thread;
                    added.add(threads.submit(() -> {
                        start.await();
                        store.addVertex(new Node<>(name, "label of " + name, 0, ""));
                        return null;
                    }));
                }
                for (Future<?> each : added) {
                    each.get();
                }
                assertEquals(4, count(store.vertexIDIterator()));
                store.drop();
            }
        } finally {
            threads.shutdown();
        }
    }

    @Test
    void anInstanceRecoversAfterAnotherOneHasClosed() {
        IStaticGraphStore<String, String, String> first = graph(Elements.TEXTS);
        first.addVertex(node("a"));
        first.archive(1);
        IStaticGraphStore<String, String, String> second = graph(Elements.TEXTS);
        second.recovery(1);
        first.addVertex(node("b"));
        first.archive(2);
        first.close();
        second.recovery(2);
        assertEquals(2, count(second.vertexIDIterator()));
        second.close();
        assertFalse(Files.exists(local(0).resolveSibling("0.2")));
    }

    @Test
    void directoriesOfOpenShardsAreNeverDeleted() throws InterruptedException, ExecutionException {
        ExecutorService threads = Executors.newFixedThreadPool(3);
        try {
            List<Future<?>> all = new ArrayList<>();
            for (int thread = 0; thread < 3; thread++) {
                IKVStatefulStore<String, String> store = keyValues();
                all.add(threads.submit(() -> {
                    for (int round = 0; round < 60; round++) {
                        store.init(context(0));
                        String written = putUnlessReadOnly(store);
                        store.flush();
                        assertEquals(written, store.get("key"));
                        if (round % 2 == 0) {
                            store.close();
                        }
                        store.drop();
                    }
                    return null;
                }));
            }
            for (Future<?> each : all) {
                each.get();
            }
        } finally {
            threads.shutdown();
        }
    }

    /** Returns the value; null if another store has the directory. */
    private static String putUnlessReadOnly(IKVStatefulStore<String, String> store) {
        try {
            store.put("key", "value");
            return "value";
        } catch (GeaflowRuntimeException readOnly) {
            assertTrue(readOnly.getMessage().contains("second instance is read-only"), readOnly.getMessage());
            return null;
        }
    }

    @SuppressWarnings("unchecked")
    private IKVStatefulStore<String, String> keyValues() {
        return (IKVStatefulStore<String, String>) store(DataModel.KV);
    }

    @Test
    void elementsThatTheirEncoderCannotReadAreRefused() {
        IStaticGraphStore<String, String, String> store = graph(Elements.TEXTS);
        for (int length : new int[] {32_768, 65_541}) {
            char[] letters = new char[length];
            Arrays.fill(letters, 'x');
            String text = new String(letters);
            refused("more than 32767 bytes", () -> store.addEdge(link("a", text)));
            refused("more than 32767 bytes", () -> store.addVertex(new Node<>("a", "label", 0, text)));
        }
        assertEquals(0, count(store.getEdgeIterator(Conditions.none())));
    }

    @Test
    void anIdWithSeveralVerticesIsReturnedOnce() {
        configuration.put("geaflow.store.fulgurite.graph.store.partition.type", "label");
        IStaticGraphStore<String, String, String> store = graph(Elements.TEXTS);
        store.addVertex(new Node<>("a", "x", 0, ""));
        store.addVertex(new Node<>("a", "y", 0, ""));
        assertEquals(1, count(store.vertexIDIterator()));
        assertEquals(1, count(store.vertexIDIterator(Conditions.of(Conditions.vertexLabels("x", "y")))));
        assertEquals(1, count(store.vertexIDIterator(Conditions.of(Conditions.vertexLabels("y")))));
    }
}
