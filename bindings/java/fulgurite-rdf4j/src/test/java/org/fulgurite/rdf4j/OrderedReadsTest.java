package org.fulgurite.rdf4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.eclipse.rdf4j.common.iteration.CloseableIteration;
import org.eclipse.rdf4j.common.order.StatementOrder;
import org.eclipse.rdf4j.common.transaction.IsolationLevels;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.util.Values;
import org.eclipse.rdf4j.model.vocabulary.RDF4J;
import org.eclipse.rdf4j.model.vocabulary.SESAME;
import org.eclipse.rdf4j.sail.SailException;
import org.fulgurite.internal.NativeQuads;
import org.fulgurite.rdf4j.config.FulguriteStoreConfig;
import org.junit.jupiter.api.Test;

/** Reads in an order, on which the merge joins of RDF4J rely. They were sorted graph by graph only. */
class OrderedReadsTest extends WithStore {
    private static final int STATEMENTS = 3000;
    private static final IRI P = iri("p");
    private static final IRI G0 = iri("g0");
    private static final IRI G1 = iri("g1");
    private static final IRI G2 = iri("g2");

    private static final Resource[][] CONTEXTS = {
        {},
        {null},
        {G0},
        {G0, G1},
        {G1, G0},
        {null, G1},
        {G1, null},
        {G2, null, G0},
        {G2, G1, G0},
        {G0, G0, G1},
        {null, G0, null},
        {G1, iri("none"), G0},
        {iri("none"), iri("other")},
    };

    private static IRI iri(String name) {
        return Values.iri("http://example.org/", name);
    }

    /** Adds statements, every third one as inferred. Some are in two graphs. */
    private static void add(StoreView transaction, int from, int to) {
        Resource[] graphs = {null, G0, G1, G2};
        for (boolean isInferred : new boolean[] {false, true}) {
            PendingQuads pending = new PendingQuads();
            for (int number = from; number < to; number++) {
                if ((number % 3 == 0) == isInferred) {
                    IRI subject = iri("n" + number * 31 % 211);
                    IRI predicate = number % 5 == 0 ? iri("q") : P;
                    Value object = number % 2 == 0 ? iri("n" + number * 17 % 197) : Values.literal(number * 13 % 101);
                    pending.add(subject, predicate, object, graphs[number % 4]);
                    if (number % 7 == 0) {
                        pending.add(subject, predicate, object, graphs[(number + 1) % 4]);
                    }
                }
            }
            pending.insert(transaction, isInferred);
        }
    }

    private static void commit(FulguriteStore store, int from, int to) {
        try (StoreView transaction = store.transaction(IsolationLevels.SNAPSHOT)) {
            add(transaction, from, to);
            NativeQuads.commit(transaction.raw());
        }
        store.forgetSnapshot();
    }

    private static List<Statement> list(CloseableIteration<? extends Statement> statements) {
        List<Statement> list = new ArrayList<>();
        statements.forEachRemaining(list::add);
        statements.close();
        return list;
    }

    /** How often each statement is there, with its context. */
    private static Map<String, Integer> counts(List<Statement> statements) {
        Map<String, Integer> counts = new HashMap<>();
        statements.forEach(statement -> counts.merge(statement.toString(), 1, Integer::sum));
        return counts;
    }

    private static Value at(Statement statement, StatementOrder order) {
        switch (order) {
            case S:
                return statement.getSubject();
            case P:
                return statement.getPredicate();
            case O:
                return statement.getObject();
            default:
                return statement.getContext();
        }
    }

    private static void assertSorted(List<Statement> statements, StatementOrder order, Comparator<Value> comparator) {
        for (int index = 1; index < statements.size(); index++) {
            Value before = at(statements.get(index - 1), order);
            Value after = at(statements.get(index), order);
            // The default graph comes first.
            assertTrue(
                    before == null || after != null && comparator.compare(before, after) <= 0,
                    before + " before " + after + " in the order " + order);
        }
    }

    private static void assertReadsAreSorted(StoreView view) {
        for (int kinds : new int[] {QuadPattern.ALL, QuadPattern.EXPLICIT, QuadPattern.INFERRED}) {
            ViewTripleSource source = new ViewTripleSource(view, kinds);
            for (Resource[] contexts : CONTEXTS) {
                for (IRI predicate : new IRI[] {null, P}) {
                    Map<String, Integer> expected = counts(list(source.getStatements(null, predicate, null, contexts)));
                    for (StatementOrder order : StatementOrder.values()) {
                        List<Statement> found = list(source.getStatements(order, null, predicate, null, contexts));
                        assertSorted(found, order, source.getComparator());
                        // Not assertEquals, whose message would have all statements.
                        assertTrue(expected.equals(counts(found)), order + ": other statements");
                    }
                }
            }
        }
    }

    @Test
    void theStatementsOfSeveralGraphsAreSortedTogether() {
        commit(store, 0, STATEMENTS);
        try (StoreView view = store.snapshot()) {
            ViewTripleSource source = new ViewTripleSource(view, QuadPattern.ALL);
            assertTrue(list(source.getStatements((Resource) null, P, null, G0, G1)).size() > 1000, "more than a batch");
            assertEquals(
                    EnumSet.allOf(StatementOrder.class), source.getSupportedOrders(null, P, null, G0, G1));
            assertReadsAreSorted(view);
        }
    }

    /** RDF4J merged on the variable of the graph, which has no value in the default graph. */
    @Test
    void thePlanOfAQueryHasNoOrderByAGraphThatIsAVariable() {
        commit(store, 0, STATEMENTS);
        try (StoreView view = store.snapshot()) {
            ViewTripleSource source = new ViewTripleSource(view, QuadPattern.ALL);
            for (Resource context : new Resource[] {null, RDF4J.NIL, SESAME.NIL}) {
                Set<StatementOrder> orders = source.getSupportedOrders(null, P, null, context);
                assertTrue(orders.containsAll(EnumSet.of(StatementOrder.S, StatementOrder.O)), orders::toString);
                assertFalse(orders.contains(StatementOrder.C), orders::toString);
            }
        }
    }

    /** An iteration reported its end after an error, without the statements of a graph or of the whole pattern. */
    @Test
    void anIterationThatFailedIsNotAtItsEnd() {
        commit(store, 0, STATEMENTS);
        for (StatementOrder order : new StatementOrder[] {null, StatementOrder.S}) {
            StoreView view = store.snapshot();
            QuadPattern pattern = new QuadPattern(view, null, P, null, QuadPattern.ALL, G0, G1);
            StatementIteration statements = new StatementIteration(pattern, order, SailException::new);
            view.close();
            for (int attempt = 0; attempt < 4; attempt++) {
                assertThrows(SailException.class, statements::hasNext, "order " + order + ", attempt " + attempt);
            }
            statements.close();
            assertFalse(statements.hasNext());
        }
    }

    @Test
    void aTransactionSortsItsChangesAmongCommittedStatements() {
        commit(store, 0, STATEMENTS / 2);
        try (StoreView transaction = store.transaction(IsolationLevels.SNAPSHOT)) {
            add(transaction, STATEMENTS / 2, STATEMENTS);
            assertReadsAreSorted(transaction);
        }
    }

    @Test
    void whatNoIndexSortsIsSortedInMemory() {
        FulguriteStoreConfig config = new FulguriteStoreConfig("spoc");
        FulguriteStore other = new FulguriteStore(directory.resolve("other").toFile(), config);
        other.init();
        try {
            commit(other, 0, STATEMENTS);
            try (StoreView view = other.snapshot()) {
                ViewTripleSource source = new ViewTripleSource(view, QuadPattern.ALL);
                assertEquals(EnumSet.of(StatementOrder.S), source.getSupportedOrders(null, null, null));
                assertReadsAreSorted(view);
            }
        } finally {
            other.shutDown();
        }
    }
}
