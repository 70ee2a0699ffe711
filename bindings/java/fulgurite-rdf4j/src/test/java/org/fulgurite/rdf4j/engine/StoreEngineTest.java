package org.fulgurite.rdf4j.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.eclipse.rdf4j.common.exception.RDF4JException;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.util.Values;
import org.eclipse.rdf4j.model.vocabulary.FN;
import org.eclipse.rdf4j.model.vocabulary.RDF4J;
import org.eclipse.rdf4j.model.vocabulary.XSD;
import org.eclipse.rdf4j.query.BindingSet;
import org.eclipse.rdf4j.query.QueryInterruptedException;
import org.eclipse.rdf4j.query.QueryResults;
import org.eclipse.rdf4j.query.TupleQuery;
import org.eclipse.rdf4j.query.TupleQueryResult;
import org.eclipse.rdf4j.query.explanation.Explanation;
import org.eclipse.rdf4j.query.impl.SimpleDataset;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.repository.sail.SailRepositoryConnection;
import org.fulgurite.rdf4j.FulguriteStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Queries that the store evaluates. */
@Timeout(120)
class StoreEngineTest {
    private static final String EX = "http://example.org/";

    /** It has no end within the time of a test. */
    private static final String ENDLESS =
            "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l FILTER(?c != ?l) }";

    private final SailRepository repository = StoreEngine.repository();
    private SailRepositoryConnection connection;

    @BeforeEach
    void open() {
        connection = repository.getConnection();
    }

    @AfterEach
    void close() {
        connection.close();
        repository.shutDown();
    }

    private static IRI iri(String name) {
        return Values.iri(EX, name);
    }

    private static void fill(SailRepositoryConnection target, int statements) {
        Random random = new Random(17);
        target.begin();
        for (int index = 0; index < statements; index++) {
            IRI subject = iri("s" + random.nextInt(200));
            IRI predicate = iri("p" + random.nextInt(6));
            int object = random.nextInt(200);
            if (random.nextBoolean()) {
                target.add(subject, predicate, iri("s" + object));
            } else {
                // No statement is in two graphs: RDF4J returns it twice then, the store once.
                target.add(subject, predicate, Values.literal(object % 50), iri("g" + object % 50 % 3));
            }
        }
        target.commit();
    }

    private static Map<BindingSet, Integer> solutions(SailRepositoryConnection from, String query) {
        Map<BindingSet, Integer> counts = new HashMap<>();
        try (TupleQueryResult result = from.prepareTupleQuery(query).evaluate()) {
            result.forEach(row -> counts.merge(row, 1, Integer::sum));
        }
        return counts;
    }

    @Test
    void bothEnginesHaveTheSameSolutions() {
        List<String> queries = List.of(
                "SELECT * { ?s <" + EX + "p1> ?o }",
                "SELECT * { ?s <" + EX + "p1> ?o . ?o <" + EX + "p2> ?x . ?x ?p ?s }",
                "SELECT ?s (COUNT(?o) AS ?n) (MAX(?o) AS ?m) { ?s <" + EX + "p3> ?o FILTER(isLiteral(?o)) } GROUP BY ?s",
                "SELECT DISTINCT ?g ?p { GRAPH ?g { ?s ?p ?o } }",
                "SELECT * { ?s <" + EX + "p0> ?o OPTIONAL { ?o <" + EX + "p1> ?y } } ORDER BY ?s ?o ?y LIMIT 500 OFFSET 20",
                "SELECT ?s { ?s <" + EX + "p0> ?a MINUS { ?s <" + EX + "p1> ?b } }",
                "SELECT ?s ?o { { ?s <" + EX + "p4> ?o } UNION { ?o <" + EX + "p5> ?s } FILTER EXISTS { ?s ?q ?seven FILTER(?seven = 7) } }",
                "SELECT ?x { <" + EX + "s1> (<" + EX + "p1>|<" + EX + "p2>)+ ?x }",
                "SELECT ?s (?o * 2 AS ?twice) (CONCAT(STR(?s), \"!\") AS ?text) { ?s ?p ?o FILTER(?o > 40) }");
        SailRepository other = new SailRepository(new FulguriteStore());
        try (SailRepositoryConnection rdf4j = other.getConnection()) {
            fill(connection, 4000);
            fill(rdf4j, 4000);
            for (String query : queries) {
                Map<BindingSet, Integer> expected = solutions(rdf4j, query);
                assertTrue(expected.size() > 1, () -> "few solutions: " + query);
                // Not assertEquals, whose message would have all solutions.
                assertTrue(expected.equals(solutions(connection, query)), query);
            }
        } finally {
            other.shutDown();
        }
    }

    @Test
    void asksAndConstructs() {
        fill(connection, 3000);
        assertTrue(connection.prepareBooleanQuery("ASK { ?s <" + EX + "p1> ?o }").evaluate());
        assertFalse(connection.prepareBooleanQuery("ASK { ?s <" + EX + "p9> ?o }").evaluate());
        String construct = "CONSTRUCT { ?o <" + EX + "of> ?s } { ?s <" + EX + "p1> ?o FILTER(isIRI(?o)) }";
        long count = solutions(connection, "SELECT DISTINCT ?s ?o { ?s <" + EX + "p1> ?o FILTER(isIRI(?o)) }").size();
        assertEquals(count, QueryResults.asModel(connection.prepareGraphQuery(construct).evaluate()).size());
    }

    @Test
    void bindingsAndDatasetsAreUsed() {
        connection.add(iri("s"), iri("p"), iri("a"));
        connection.add(iri("s"), iri("p"), iri("b"), iri("g"));
        TupleQuery query = connection.prepareTupleQuery("SELECT ?o { ?s ?p ?o }");
        assertEquals(2, QueryResults.asList(query.evaluate()).size());
        query.setBinding("o", iri("b"));
        assertEquals(1, QueryResults.asList(query.evaluate()).size());
        query.clearBindings();
        SimpleDataset dataset = new SimpleDataset();
        dataset.addDefaultGraph(RDF4J.NIL);
        query.setDataset(dataset);
        assertEquals(iri("a"), QueryResults.asList(query.evaluate()).get(0).getValue("o"));
        dataset.addDefaultGraph(iri("g"));
        assertEquals(2, QueryResults.asList(query.evaluate()).size());
        // RDF4J evaluates it, because the variable is not one of the results.
        query.setDataset(null);
        query.setBinding("s", iri("other"));
        assertEquals(0, QueryResults.asList(query.evaluate()).size());
    }

    @Test
    void aTransactionSeesItsChangesAndResultsKeepTheirState() {
        fill(connection, 500);
        String all = "SELECT * { ?s ?p ?o }";
        try (TupleQueryResult before = connection.prepareTupleQuery(all).evaluate()) {
            long count = connection.size();
            connection.begin();
            connection.add(iri("new"), iri("p"), iri("o"));
            assertTrue(connection.prepareBooleanQuery("ASK { <" + EX + "new> ?p ?o }").evaluate());
            connection.commit();
            assertEquals(count, before.stream().count());
            assertEquals(count + 1, connection.prepareTupleQuery(all).evaluate().stream().count());
        }
    }

    @Test
    void closingTimeOutsAndInterruptsEndAQuery() throws Exception {
        fill(connection, 2000);
        TupleQuery timed = connection.prepareTupleQuery(ENDLESS);
        timed.setMaxExecutionTime(1);
        assertThrows(QueryInterruptedException.class, () -> QueryResults.asList(timed.evaluate()));

        TupleQueryResult closed = connection.prepareTupleQuery(ENDLESS).evaluate();
        Thread closer = new Thread(() -> {
            sleep(Duration.ofMillis(200));
            closed.close();
        });
        closer.start();
        assertFalse(closed.hasNext());
        closer.join();

        Thread reader = Thread.currentThread();
        Thread interrupter = new Thread(() -> {
            sleep(Duration.ofMillis(200));
            reader.interrupt();
        });
        interrupter.start();
        try (TupleQueryResult interrupted = connection.prepareTupleQuery(ENDLESS).evaluate()) {
            assertThrows(QueryInterruptedException.class, interrupted::hasNext);
            assertTrue(Thread.interrupted());
        }
        interrupter.join();
    }

    @Test
    void aQueryThatNeedsTooMuchMemoryIsAnError() {
        SailRepository small = new SailRepository(new FulguriteStore(StoreEngine.config().setQueryMemory(1 << 20)));
        try (SailRepositoryConnection limited = small.getConnection()) {
            fill(limited, 1000);
            String pairs = " { ?a ?p ?b . ?d ?q ?e }";
            for (String query : List.of(
                    "SELECT *" + pairs + " ORDER BY ?b ?e", "SELECT (CONCAT(STR(?a), STR(?e)) AS ?t)" + pairs + " ORDER BY ?t")) {
                RDF4JException error = assertThrows(
                        RDF4JException.class, () -> QueryResults.asList(limited.prepareTupleQuery(query).evaluate()));
                assertTrue(error.toString().contains("bytes of memory; raise queryMemory"), error::toString);
            }
            assertTrue(limited.prepareBooleanQuery("ASK { ?s ?p ?o }").evaluate());
        } finally {
            small.shutDown();
        }
    }

    @Test
    void nestedQueriesRunOnThreadsWithSmallStacks() throws Exception {
        // Without named graphs, the store evaluates some of these queries on ids.
        connection.begin();
        for (int index = 0; index < 300; index++) {
            connection.add(iri("s" + index), iri("p" + index % 6), Values.literal(index));
        }
        connection.commit();
        for (int levels : new int[] {3, 9, 40}) {
            String query = "SELECT * { ?s ?p ?o0 " + IntStream.range(1, levels)
                    .mapToObj(level -> "OPTIONAL { ?s <" + EX + "none> ?o" + level + " ")
                    .collect(Collectors.joining()) + "} ".repeat(levels);
            assertEquals(connection.size(), countOnSmallStack(query), query);
        }
        String options = IntStream.range(1, 51)
                .mapToObj(number -> "OPTIONAL { ?s <" + EX + "p" + number % 6 + "> ?o" + number + " } ")
                .collect(Collectors.joining("", "SELECT * { ?s ?p ?o0 ", "}"));
        assertEquals(connection.size(), countOnSmallStack(options), options);
        String branches = IntStream.range(0, 50)
                .mapToObj(number -> "{ ?s ?p ?o" + number + " }")
                .collect(Collectors.joining(" UNION ", "SELECT * { ", " }"));
        assertEquals(50 * connection.size(), countOnSmallStack(branches), branches);
    }

    /** Returns the number of solutions, or what was thrown. */
    private Object countOnSmallStack(String query) throws InterruptedException {
        AtomicReference<Object> found = new AtomicReference<>();
        Thread small = new Thread(null, () -> {
            try {
                found.set(connection.prepareTupleQuery(query).evaluate().stream().count());
            } catch (Throwable error) {
                found.set(error);
            }
        }, "small stack", 400 << 10);
        small.start();
        small.join();
        return found.get();
    }

    private static void sleep(Duration duration) {
        try {
            TimeUnit.MILLISECONDS.sleep(duration.toMillis());
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    @Test
    void functionsThatTheStoreLacksAreEvaluatedByRdf4j() {
        String prefixes = "PREFIX xsd: <" + XSD.NAMESPACE + "> PREFIX fn: <" + FN.NAMESPACE + "> ";
        for (String[] call : new String[][] {
            {"xsd:int(\"7\")", "7"},
            {"xsd:unsignedByte(\"7\")", "7"},
            {"xsd:nonNegativeInteger(xsd:integer(\"7\"))", "7"},
            {"fn:upper-case(\"a\")", "A"},
            {"<" + FN.NAMESPACE + "concat>(\"a\", UCASE(\"b\"))", "aB"},
            {"xsd:duration(\"P1D\")", "P1D"},
            {"xsd:time(\"10:00:00\")", "10:00:00"},
            {"UCASE(\"a\")", "A"},
        }) {
            String query = prefixes + "SELECT (" + call[0] + " AS ?x) {}";
            List<BindingSet> rows = QueryResults.asList(connection.prepareTupleQuery(query).evaluate());
            assertEquals(call[1], rows.get(0).getValue("x").stringValue(), query);
        }
    }

    @Test
    void queriesOfOtherKindsAreEvaluatedByRdf4j() {
        connection.add(iri("s"), iri("p"), iri("o"), iri("g"));
        assertEquals(1, connection.prepareTupleQuery("SELECT * FROM <" + EX + "g> { ?s ?p ?o }").evaluate().stream().count());
        assertEquals(1, connection.prepareGraphQuery("DESCRIBE <" + EX + "s>").evaluate().stream().count());
        String text = connection.prepareTupleQuery("SELECT * { ?s ?p ?o }").explain(Explanation.Level.Executed).toString();
        assertTrue(text.contains("StatementPattern"), text);
    }
}
