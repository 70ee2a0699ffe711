package org.fulgurite.geaflow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.apache.geaflow.common.iterator.CloseableIterator;
import org.apache.geaflow.model.graph.edge.EdgeDirection;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.state.data.OneDegreeGraph;
import org.apache.geaflow.state.pushdown.filter.EdgeValueDropFilter;
import org.apache.geaflow.state.pushdown.filter.FilterType;
import org.apache.geaflow.state.pushdown.filter.IFilter;
import org.apache.geaflow.state.pushdown.filter.VertexValueDropFilter;
import org.apache.geaflow.state.pushdown.filter.inner.BaseComposeGraphFilter;
import org.apache.geaflow.state.pushdown.filter.inner.GraphFilter;
import org.apache.geaflow.state.pushdown.filter.inner.IGraphFilter;
import org.apache.geaflow.store.api.graph.IStaticGraphStore;
import org.fulgurite.geaflow.samples.Conditions;
import org.fulgurite.geaflow.samples.Elements;
import org.fulgurite.geaflow.samples.Elements.Link;
import org.fulgurite.geaflow.samples.Elements.Node;
import org.junit.jupiter.api.Test;

/** What GeaFlow's own tests of its RocksDB states want of a store, beyond the reads of {@link GraphModelTest}. */
class ContractTest extends WithJob {
    private static Node<String> node(String id, String label) {
        return new Node<>(id, label, 1, "value of " + id);
    }

    private static Link<String> link(String source, String target, String label) {
        return new Link<>(source, target, EdgeDirection.OUT, label, 1, "value");
    }

    /** Sources a and b, each with three edges of the labels x, y and z. */
    private IStaticGraphStore<String, String, String> labelledGraph() {
        IStaticGraphStore<String, String, String> store = graph(Elements.TEXTS);
        store.addVertex(node("a", "x"));
        store.addVertex(node("b", "y"));
        for (String source : new String[] {"a", "b"}) {
            for (String label : new String[] {"x", "y", "z"}) {
                for (int target = 0; target < 3; target++) {
                    store.addEdge(link(source, "t" + target, label));
                }
            }
        }
        return store;
    }

    private static <T> List<T> all(CloseableIterator<T> iterator) {
        List<T> all = new ArrayList<>();
        while (iterator.hasNext()) {
            all.add(iterator.next());
        }
        return all;
    }

    @Test
    void aSingleLimitHoldsForEachConditionAndBeginsAnewForEachSource() {
        IStaticGraphStore<String, String, String> store = labelledGraph();
        IGraphFilter either = ((BaseComposeGraphFilter)
                        Conditions.or(Conditions.edgeLabels("x"), Conditions.edgeLabels("y")))
                .singleLimit();
        for (int round = 0; round < 2; round++) {
            Map<String, Long> counts = new HashMap<>();
            store.getEdges("a", Conditions.of(either).limit(2, 0))
                    .forEach(edge -> counts.merge(((Link<String>) edge).getLabel(), 1L, Long::sum));
            Map<String, Long> expected = new HashMap<>();
            expected.put("x", 2L);
            expected.put("y", 2L);
            assertEquals(expected, counts);
        }
        assertEquals(8, all(store.getEdgeIterator(Conditions.of(either).limit(2, 0))).size());
        expectCounts(4, store.getAggResult(Conditions.of(either).limit(2, 0)));
        IGraphFilter together = Conditions.or(Conditions.edgeLabels("x"), Conditions.edgeLabels("y"));
        expectCounts(2, store.getAggResult(Conditions.of(together).limit(2, 0)));
    }

    private static void expectCounts(long each, Map<?, Long> counts) {
        assertEquals(2, counts.size());
        counts.values().forEach(count -> assertEquals(each, count.longValue()));
    }

    @Test
    void droppedValuesAreNullAndStayInTheStore() {
        IStaticGraphStore<String, String, String> store = labelledGraph();
        IGraphFilter both = Conditions.and(
                GraphFilter.of(new EdgeValueDropFilter<String, String>()),
                GraphFilter.of(new VertexValueDropFilter<String, String>()));
        for (int round = 0; round < 2; round++) {
            List<IEdge<String, String>> edges =
                    store.getEdges("a", Conditions.of(new EdgeValueDropFilter<String, String>()));
            assertEquals(9, edges.size());
            edges.forEach(edge -> assertNull(edge.getValue()));
            assertNull(store.getVertex("a", Conditions.of(new VertexValueDropFilter<String, String>())).getValue());
            List<OneDegreeGraph<String, String, String>> graphs =
                    all(store.getOneDegreeGraphIterator(Conditions.of(both)));
            assertEquals(2, graphs.size());
            graphs.forEach(graph -> {
                assertNull(graph.getVertex().getValue());
                all(graph.getEdgeIterator()).forEach(edge -> assertNull(edge.getValue()));
            });
            assertEquals("value of a", store.getVertex("a", Conditions.none()).getValue());
            assertEquals("value", store.getEdges("a", Conditions.none()).get(0).getValue());
        }
    }

    @Test
    void aCompiledConditionThatShowsNothingIsEvaluatedInEveryPartition() {
        for (String partitions : new String[] {"none", "label"}) {
            configuration.put("geaflow.store.fulgurite.graph.store.partition.type", partitions);
            IStaticGraphStore<String, String, String> store = labelledGraph();
            IFilter<?> compiled = store.getFilterConverter()
                    .convert(Conditions.and(Conditions.vertexLabels("y"), Conditions.edgeLabels("x")));
            assertEquals(FilterType.GENERATED, compiled.getFilterType());
            assertNull(store.getVertex("a", Conditions.of(compiled)));
            assertEquals(Collections.singletonList("b"), all(store.vertexIDIterator(Conditions.of(compiled))));
            assertEquals(3, store.getEdges("a", Conditions.of(compiled)).size());
            assertEquals(2, all(store.getEdgeIterator(Conditions.of(compiled).limit(1, 0))).size());
            expectCounts(3, store.getAggResult(Conditions.of(compiled)));
            store.drop();
        }
    }

    /** GeaFlow recovers the next version into another store, reads it from then on, and closes the old one later. */
    @Test
    void storesForReadingSwitchVersionsAndOldOnesAreClosedLater() {
        IStaticGraphStore<String, String, String> writer = graph(Elements.TEXTS);
        List<IStaticGraphStore<String, String, String>> old = new ArrayList<>();
        for (int version = 1; version <= 3; version++) {
            writer.addVertex(node("v" + version, "x"));
            writer.archive(version);
            IStaticGraphStore<String, String, String> current = graph(Elements.TEXTS);
            current.recovery(version);
            if (version > 1) {
                // A read of the version before began before the switch.
                CloseableIterator<String> scan = old.get(version - 2).vertexIDIterator();
                assertEquals(version, all(current.vertexIDIterator()).size());
                assertEquals(version - 1, all(scan).size());
                old.get(version - 2).close();
                old.get(version - 2).drop();
            }
            assertEquals("value of v1", current.getVertex("v1", Conditions.none()).getValue());
            old.add(current);
        }
        assertEquals(3, all(writer.vertexIDIterator()).size());
        old.get(2).close();
        for (int instance = 2; instance <= 4; instance++) {
            assertFalse(Files.exists(local(0).resolveSibling("0." + instance)));
        }
    }

    private static void refused(Runnable call) {
        String message = assertThrows(GeaflowRuntimeException.class, call::run).getMessage();
        assertTrue(message.contains("second instance is read-only"), message);
    }

    @Test
    void aSecondInstanceRefusesWritesAndItsFirstReadBeforeARecoveryIsLogged() {
        IStaticGraphStore<String, String, String> writer = graph(Elements.TEXTS);
        writer.addVertex(node("a", "x"));
        writer.archive(1);
        IStaticGraphStore<String, String, String> second = graph(Elements.TEXTS);
        List<String> events = logged(() -> {
            assertNull(second.getVertex("a", Conditions.none()));
            assertNull(second.getVertex("b", Conditions.none()));
            second.recovery(1);
            assertEquals("value of a", second.getVertex("a", Conditions.none()).getValue());
        });
        long warnings = events.stream()
                .filter(event -> event.startsWith("WARN"))
                .filter(event -> event.contains("recover a checkpoint before reading it"))
                .count();
        assertEquals(1, warnings, events.toString());
        List<Runnable> writes = Arrays.asList(
                () -> second.addVertex(node("b", "x")),
                () -> second.addEdge(link("a", "b", "x")),
                () -> second.archive(2));
        writes.forEach(ContractTest::refused);
        second.flush();
        writer.close();
        // Its directory is free.
        second.init(context(0));
        second.addVertex(node("b", "x"));
        second.archive(2);
    }
}
