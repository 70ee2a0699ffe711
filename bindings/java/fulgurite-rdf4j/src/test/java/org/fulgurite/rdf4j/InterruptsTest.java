package org.fulgurite.rdf4j;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.function.Supplier;
import org.eclipse.rdf4j.common.iteration.CloseableIteration;
import org.eclipse.rdf4j.common.transaction.IsolationLevels;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.ValueFactory;
import org.eclipse.rdf4j.model.util.Values;
import org.eclipse.rdf4j.model.vocabulary.RDF;
import org.eclipse.rdf4j.query.QueryInterruptedException;
import org.eclipse.rdf4j.query.TupleQueryResult;
import org.eclipse.rdf4j.query.algebra.evaluation.function.Function;
import org.eclipse.rdf4j.query.algebra.evaluation.function.FunctionRegistry;
import org.eclipse.rdf4j.repository.sail.SailRepositoryConnection;
import org.eclipse.rdf4j.sail.InterruptedSailException;
import org.eclipse.rdf4j.sail.SailConnection;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** RDF4J's iterations end early if their thread is interrupted. Reads of the store throw an exception instead. */
class InterruptsTest extends WithStore {
    private static final int COUNT = 100;

    /** A function that interrupts the thread that evaluates it. */
    private static final class Interrupt implements Function {
        @Override
        public String getURI() {
            return "urn:interrupt";
        }

        @Override
        public Value evaluate(ValueFactory factory, Value... arguments) {
            Thread.currentThread().interrupt();
            return Values.literal(true);
        }
    }

    private void fill() {
        try (SailRepositoryConnection connection = repository.getConnection()) {
            connection.begin();
            for (int number = 0; number < COUNT; number++) {
                connection.add(RDF.NIL, RDF.VALUE, Values.literal(number));
            }
            connection.commit();
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "SELECT ?s (COUNT(?o) AS ?n) { ?s ?p ?o FILTER(<urn:interrupt>(?o)) } GROUP BY ?s ORDER BY ?s",
                "SELECT (COUNT(*) AS ?n) { ?s ?p ?o FILTER(<urn:interrupt>(?o)) }",
                "SELECT DISTINCT ?n { ?s ?p ?o BIND(<urn:interrupt>(?o) AS ?n) }",
                "SELECT * { ?s ?p ?o FILTER NOT EXISTS { ?s ?q ?v FILTER(!<urn:interrupt>(?v)) } }",
            })
    void aQueryThatIsInterruptedThrows(String query) {
        fill();
        Function interrupt = new Interrupt();
        FunctionRegistry.getInstance().add(interrupt);
        try (SailRepositoryConnection connection = repository.getConnection()) {
            assertThrows(QueryInterruptedException.class, () -> {
                try (TupleQueryResult result = connection.prepareTupleQuery(query).evaluate()) {
                    result.stream().count();
                }
            });
            assertTrue(Thread.interrupted());
        } finally {
            FunctionRegistry.getInstance().remove(interrupt);
        }
    }

    @Test
    void readsOfAnInterruptedThreadThrowAndDoNotEndEarly() {
        fill();
        try (SailConnection connection = store.getConnection()) {
            assertInterrupted(() -> connection.getStatements(null, null, null, true));
            assertInterrupted(() -> connection.getStatements(RDF.NIL, null, null, true, null, RDF.NIL));
            assertInterrupted(connection::getContextIDs);
            connection.begin(IsolationLevels.SNAPSHOT);
            assertInterrupted(() -> connection.getStatements(null, RDF.VALUE, null, true));
            connection.rollback();
        }
    }

    @Test
    void aResultThatIsReadIntoMemoryByAnInterruptedThreadDoesNotEndEarly() {
        fill();
        try (SailRepositoryConnection connection = repository.getConnection()) {
            connection.begin(IsolationLevels.SNAPSHOT);
            String query = "SELECT * { ?s ?p ?o FILTER(?o >= 0) }";
            try (TupleQueryResult result = connection.prepareTupleQuery(query).evaluate()) {
                Thread.currentThread().interrupt();
                connection.remove(RDF.NIL, RDF.VALUE, null);
                assertTrue(Thread.interrupted());
                assertThrows(QueryInterruptedException.class, () -> result.stream().count());
            }
            connection.rollback();
        }
    }

    /** Asserts that the thread stays interrupted, and that a result that was read to its end remains at its end. */
    private static void assertInterrupted(Supplier<CloseableIteration<?>> read) {
        try (CloseableIteration<?> ended = read.get(); CloseableIteration<?> interrupted = read.get()) {
            ended.stream().count();
            Thread.currentThread().interrupt();
            assertFalse(ended.hasNext());
            assertThrows(InterruptedSailException.class, interrupted::hasNext);
            assertFalse(interrupted.hasNext());
        } finally {
            assertTrue(Thread.interrupted());
        }
    }
}
