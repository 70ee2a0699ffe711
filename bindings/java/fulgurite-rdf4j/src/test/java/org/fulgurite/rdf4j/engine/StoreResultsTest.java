package org.fulgurite.rdf4j.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Literal;
import org.eclipse.rdf4j.model.util.Values;
import org.eclipse.rdf4j.model.vocabulary.XSD;
import org.eclipse.rdf4j.query.BindingSet;
import org.eclipse.rdf4j.query.QueryInterruptedException;
import org.eclipse.rdf4j.query.QueryResults;
import org.eclipse.rdf4j.query.TupleQuery;
import org.eclipse.rdf4j.query.TupleQueryResult;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.repository.sail.SailRepositoryConnection;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Rows of ids of queries that the store evaluates. */
@Timeout(120)
class StoreResultsTest {
    private static final String EX = "http://example.org/";
    private static final String TEXT = "a text that is too long to be in an id: ";

    /** More rows than the batches of all sizes have. */
    private static final int ROWS = 4000;

    private final SailRepository repository = StoreEngine.repository();
    private SailRepositoryConnection connection;

    @BeforeEach
    void open() {
        connection = repository.getConnection();
        connection.begin();
        for (int index = 0; index < ROWS; index++) {
            IRI subject = Values.iri(EX, "s" + index);
            connection.add(subject, Values.iri(EX, "text"), Values.literal(TEXT + index));
            connection.add(subject, Values.iri(EX, "number"), Values.literal(String.valueOf(index % 3), XSD.INTEGER));
        }
        connection.commit();
    }

    @AfterEach
    void close() {
        connection.close();
        repository.shutDown();
    }

    private List<BindingSet> rows(String query) {
        return QueryResults.asList(connection.prepareTupleQuery(query).evaluate());
    }

    @Test
    void valuesAreReadAfterTheResultIsClosedAndItsStatementsAreRemoved() {
        List<BindingSet> rows = rows("SELECT ?s ?text { ?s <" + EX + "text> ?text }");
        connection.begin();
        connection.clear();
        connection.commit();
        connection.add(Values.iri(EX, "other"), Values.iri(EX, "text"), Values.literal(TEXT + "another"));
        assertEquals(ROWS, rows.size());
        Set<String> texts = new HashSet<>();
        for (BindingSet row : rows) {
            String text = row.getValue("text").stringValue();
            assertEquals(EX + "s" + text.substring(TEXT.length()), row.getValue("s").stringValue());
            texts.add(text);
        }
        assertEquals(ROWS, texts.size());
    }

    @Test
    void computedValuesAreThoseOfTheirRows() {
        String query = "SELECT ?n (COUNT(?s) AS ?count) (AVG(?m) AS ?average) { ?s <" + EX + "number> ?n . ?s <" + EX
                + "number> ?m } GROUP BY ?n";
        List<BindingSet> rows = new ArrayList<>(rows(query));
        assertEquals(3, rows.size());
        for (BindingSet row : rows) {
            int number = ((Literal) row.getValue("n")).intValue();
            int expected = ROWS / 3 + (number < ROWS % 3 ? 1 : 0);
            assertEquals(expected, ((Literal) row.getValue("count")).intValue());
            assertEquals(number, ((Literal) row.getValue("average")).doubleValue());
        }
        List<BindingSet> all = rows("SELECT (AVG(?n) AS ?average) { ?s <" + EX + "number> ?n }");
        double sum = 0;
        for (int index = 0; index < ROWS; index++) {
            sum += index % 3;
        }
        assertEquals(sum / ROWS, ((Literal) all.get(0).getValue("average")).doubleValue(), 1e-9);
    }

    @Test
    void computedValuesAreThoseOfTheirRowsInEachBatch() {
        String query = "SELECT ?s ?n ?x { VALUES (?n ?x) { (0 \"" + TEXT + "zero\") (1 \"" + TEXT + "one\") "
                + "(2 \"" + TEXT + "two\") } ?s <" + EX + "number> ?n }";
        List<BindingSet> rows = rows(query);
        assertEquals(ROWS, rows.size());
        List<String> texts = List.of(TEXT + "zero", TEXT + "one", TEXT + "two");
        for (BindingSet row : rows) {
            int number = ((Literal) row.getValue("n")).intValue();
            assertEquals(texts.get(number), row.getValue("x").stringValue());
            int subject = Integer.parseInt(row.getValue("s").stringValue().substring(EX.length() + 1));
            assertEquals(subject % 3, number);
        }
    }

    @Test
    void aLongComputedTextIsInABatchOnce() {
        // A thousand copies of it would be more than an array of Java can have.
        String text = "t".repeat(3 << 20);
        String query = "SELECT ?s ?x { VALUES ?x { \"" + text + "\" } ?s <" + EX + "number> ?n }";
        int count = 0;
        try (TupleQueryResult result = connection.prepareTupleQuery(query).evaluate()) {
            while (result.hasNext()) {
                assertEquals(text.length(), result.next().getValue("x").stringValue().length());
                count++;
            }
        }
        assertEquals(ROWS, count);
    }

    @Test
    void variablesThatNoRowBindsHaveNoValue() {
        String query = "SELECT ?s ?none ?text { ?s <" + EX + "number> 1 "
                + "OPTIONAL { ?s <" + EX + "none> ?text } } LIMIT 40";
        List<BindingSet> rows = rows(query);
        assertEquals(40, rows.size());
        for (BindingSet row : rows) {
            assertNull(row.getValue("none"));
            assertNull(row.getValue("text"));
            assertEquals(EX, ((IRI) row.getValue("s")).getNamespace());
        }
    }

    @Test
    void aResultIsClosedByAnotherThreadWhileItFindsNoRows() throws InterruptedException {
        String endless = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }";
        TupleQueryResult result = connection.prepareTupleQuery(endless).evaluate();
        Thread closer = new Thread(() -> {
            try {
                TimeUnit.MILLISECONDS.sleep(100);
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
            result.close();
        });
        closer.start();
        assertFalse(result.hasNext());
        closer.join();
        TupleQuery timed = connection.prepareTupleQuery(endless);
        timed.setMaxExecutionTime(1);
        assertThrows(QueryInterruptedException.class, () -> QueryResults.asList(timed.evaluate()));
    }
}
