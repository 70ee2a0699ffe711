package org.fulgurite.rdf4j.queries;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.util.Values;
import org.eclipse.rdf4j.query.QueryInterruptedException;
import org.eclipse.rdf4j.query.QueryLanguage;
import org.eclipse.rdf4j.query.algebra.ArbitraryLengthPath;
import org.eclipse.rdf4j.query.algebra.evaluation.QueryBindingSet;
import org.eclipse.rdf4j.query.algebra.helpers.AbstractQueryModelVisitor;
import org.eclipse.rdf4j.query.parser.QueryParserUtil;
import org.fulgurite.rdf4j.internal.IdRows;
import org.junit.jupiter.api.Test;

/** The search of paths, and which paths are searched. */
class PathNodesTest {
    private static final String EX = "http://example.org/";
    private static final int UNKNOWN_NODE = 99;

    /** Edges between numbers. It counts its reads. */
    private static final class Edges implements PathReads {
        private final Map<Long, List<Long>> next = new HashMap<>();
        private int reads;

        Edges add(long from, long... to) {
            for (long node : to) {
                next.computeIfAbsent(from, any -> new ArrayList<>()).add(node);
            }
            return this;
        }

        @Override
        public long id(Value node) {
            int number = Integer.parseInt(node.stringValue().substring(EX.length()));
            return number == UNKNOWN_NODE ? IdRows.UNKNOWN : number;
        }

        @Override
        public void addNext(long node, IdSet nodes) {
            reads++;
            next.getOrDefault(node, List.of()).forEach(nodes::add);
        }

        @Override
        public Value value(long node) {
            return node(node);
        }
    }

    private static Value node(long number) {
        return Values.iri(EX, "" + number);
    }

    private static List<Long> nodes(PathReads reads, long start, Value end, long minLength) {
        QueryBindingSet given = new QueryBindingSet();
        given.addBinding("other", Values.literal(1));
        List<Long> found = new ArrayList<>();
        try (PathNodes nodes = new PathNodes(reads, "start", node(start), "end", end, minLength, given)) {
            nodes.forEachRemaining(solution -> {
                assertEquals(Set.of("start", "end", "other"), solution.getBindingNames());
                assertEquals(node(start), solution.getValue("start"));
                found.add(Long.parseLong(solution.getValue("end").stringValue().substring(EX.length())));
            });
        }
        return found;
    }

    @Test
    void eachNodeIsFoundOnceWithOneReadForEachNode() {
        Edges edges = new Edges().add(1, 2, 3).add(2, 4).add(3, 4, 4).add(4, 5).add(7, 8);
        assertEquals(List.of(2L, 3L, 4L, 5L), nodes(edges, 1, null, 1));
        assertEquals(5, edges.reads);
        assertEquals(List.of(1L, 2L, 3L, 4L, 5L), nodes(edges, 1, null, 0));
        assertEquals(List.of(), nodes(edges, 5, null, 1));
        assertEquals(List.of(5L), nodes(edges, 5, null, 0));
    }

    @Test
    void theStartIsFoundByACycleOnly() {
        Edges edges = new Edges().add(1, 2).add(2, 3).add(3, 1, 3).add(9, 9);
        assertEquals(List.of(2L, 3L, 1L), nodes(edges, 1, null, 1));
        assertEquals(3, edges.reads);
        assertEquals(List.of(1L, 2L, 3L), nodes(edges, 1, null, 0));
        assertEquals(List.of(9L), nodes(edges, 9, null, 1));
        assertEquals(List.of(1L), nodes(edges, 1, node(1), 1));
        assertEquals(List.of(), nodes(new Edges().add(1, 2), 1, node(1), 1));
        assertEquals(List.of(1L), nodes(new Edges(), 1, node(1), 0));
    }

    @Test
    void aGivenEndIsFoundAtMostOnceAndEndsTheSearch() {
        Edges edges = new Edges().add(1, 2, 3).add(2, 3).add(3, 4).add(4, 5);
        assertEquals(List.of(3L), nodes(edges, 1, node(3), 1));
        assertEquals(1, edges.reads);
        assertEquals(List.of(5L), nodes(edges, 1, node(5), 0));
        assertEquals(List.of(), nodes(edges, 5, node(1), 0));
    }

    @Test
    void aTermThatTheStoreDoesNotHaveIsReachedByNoStepOnly() {
        Edges edges = new Edges().add(1, 2);
        assertEquals(List.of(), nodes(edges, UNKNOWN_NODE, null, 1));
        assertEquals(List.of(99L), nodes(edges, UNKNOWN_NODE, null, 0));
        assertEquals(List.of(), nodes(edges, 1, node(UNKNOWN_NODE), 1));
        assertEquals(List.of(99L), nodes(edges, UNKNOWN_NODE, node(UNKNOWN_NODE), 0));
    }

    @Test
    void anInterruptEndsASearch() {
        Edges edges = new Edges().add(1, 2).add(2, 1);
        try (PathNodes nodes = new PathNodes(edges, "start", node(1), "end", node(5), 1, new QueryBindingSet())) {
            Thread.currentThread().interrupt();
            assertThrows(QueryInterruptedException.class, nodes::hasNext);
            assertTrue(Thread.interrupted());
        }
    }

    @Test
    void aSetOfIdsKeepsTheOrderOfItsIds() {
        Random random = new Random(3);
        IdSet ids = new IdSet();
        Set<Long> expected = new LinkedHashSet<>();
        for (int count = 0; count < 10_000; count++) {
            long id = 1L << 56 | random.nextInt(6000);
            assertEquals(expected.contains(id), ids.contains(id));
            assertEquals(expected.add(id), ids.add(id));
            assertTrue(ids.contains(id));
        }
        assertEquals(expected.size(), ids.size());
        int position = 0;
        for (long id : expected) {
            assertEquals(id, ids.get(position++));
        }
        assertFalse(ids.contains(0));
    }

    private static ArbitraryLengthPath path(String pattern) {
        List<ArbitraryLengthPath> paths = new ArrayList<>();
        QueryParserUtil.parseQuery(QueryLanguage.SPARQL, "SELECT * { " + pattern + " }", null)
                .getTupleExpr()
                .visit(new AbstractQueryModelVisitor<RuntimeException>() {
                    @Override
                    public void meet(ArbitraryLengthPath path) {
                        paths.add(path);
                    }
                });
        assertEquals(1, paths.size(), pattern);
        return paths.get(0);
    }

    @Test
    void pathsOfOnePredicateInAllGraphsAreSearched() {
        for (String pattern :
                List.of("?a <urn:p>+ ?b", "<urn:a> <urn:p>* ?b", "?a <urn:p>+ <urn:b>", "?a ^<urn:p>+ ?b")) {
            assertNotNull(StoreEvaluationStrategy.predicate(path(pattern)), pattern);
        }
        for (String pattern : List.of(
                "?a (<urn:p>|<urn:q>)+ ?b",
                "?a (<urn:p>/<urn:q>)* ?b",
                "GRAPH <urn:g> { ?a <urn:p>+ ?b }",
                "GRAPH ?g { ?a <urn:p>* ?b }")) {
            assertNull(StoreEvaluationStrategy.predicate(path(pattern)), pattern);
        }
    }
}
