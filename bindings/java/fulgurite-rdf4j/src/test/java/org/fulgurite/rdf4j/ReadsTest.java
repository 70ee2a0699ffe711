package org.fulgurite.rdf4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.eclipse.rdf4j.collection.factory.api.CollectionFactory;
import org.eclipse.rdf4j.collection.factory.impl.DefaultCollectionFactory;
import org.eclipse.rdf4j.collection.factory.mapdb.MapDb3CollectionFactory;
import org.eclipse.rdf4j.common.iteration.CloseableIteration;
import org.eclipse.rdf4j.common.iteration.EmptyIteration;
import org.eclipse.rdf4j.common.iteration.Iterations;
import org.eclipse.rdf4j.common.order.StatementOrder;
import org.eclipse.rdf4j.common.transaction.IsolationLevels;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Literal;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.Triple;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.util.Statements;
import org.eclipse.rdf4j.model.util.Values;
import org.eclipse.rdf4j.model.vocabulary.XSD;
import org.eclipse.rdf4j.query.BindingSet;
import org.eclipse.rdf4j.query.QueryInterruptedException;
import org.eclipse.rdf4j.query.QueryLanguage;
import org.eclipse.rdf4j.query.QueryResults;
import org.eclipse.rdf4j.query.TupleQueryResult;
import org.eclipse.rdf4j.query.algebra.TupleExpr;
import org.eclipse.rdf4j.query.parser.QueryParserUtil;
import org.eclipse.rdf4j.repository.RepositoryResult;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.repository.sail.SailRepositoryConnection;
import org.eclipse.rdf4j.sail.InterruptedSailException;
import org.eclipse.rdf4j.sail.memory.MemoryStore;
import org.fulgurite.options.Durability;
import org.fulgurite.rdf4j.config.FulguriteStoreConfig;
import org.fulgurite.rdf4j.queries.IdSet;
import org.fulgurite.rdf4j.queries.PathReads;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Reads of RDF4J's evaluation: values that are kept, and lookups that find nothing or a known statement. */
class ReadsTest {
    private static final String EX = "http://example.org/";
    private static final IRI ANN = Values.iri(EX, "ann");
    private static final IRI NAME = Values.iri(EX, "name");
    private static final IRI KNOWS = Values.iri(EX, "knows");
    private static final IRI GRAPH = Values.iri(EX, "graph");
    private static final String OBJECTS = "SELECT ?o { ?s <" + NAME + "> ?o }";
    private static final String LONG = "a text that is longer than an id: ";
    private static final List<String> QUERIES = Stream.of(
                    "{ ?s :knows ?o . ?o :knows ?s }",
                    "{ ?s :knows ?o . ?o :name ?n . ?s :name ?n }",
                    "{ ?s :name 'n1'@EN . ?s :knows ?o OPTIONAL { ?o :name 3 } }",
                    "{ ?s :knows ?o FILTER NOT EXISTS { ?o :knows ?s } }",
                    "{ GRAPH ?g { ?s :knows ?o } ?o :knows ?x }",
                    "{ ?s ?p ?o . :n1 :knows ?s }",
                    "{ ?s :name ?n MINUS { GRAPH :graph { ?s :knows ?o } } }")
            .map(pattern -> "PREFIX : <" + EX + "> SELECT * " + pattern)
            .collect(Collectors.toList());

    @TempDir
    Path directory;

    private FulguriteStore store;
    private SailRepository repository;
    private SailRepositoryConnection connection;

    @BeforeEach
    void open() {
        open(new FulguriteStoreConfig());
    }

    private void open(FulguriteStoreConfig config) {
        store = new FulguriteStore(directory.toFile(), config);
        repository = new SailRepository(store);
        connection = repository.getConnection();
    }

    @AfterEach
    void close() {
        connection.close();
        repository.shutDown();
    }

    private List<Value> objects() {
        try (TupleQueryResult result = connection.prepareTupleQuery(OBJECTS).evaluate()) {
            List<Value> values = result.stream().map(row -> row.getValue("o")).collect(Collectors.toList());
            values.forEach(Value::stringValue);
            return values;
        }
    }

    private static Map<BindingSet, Integer> solutions(SailRepositoryConnection from, String query) {
        Map<BindingSet, Integer> counts = new HashMap<>();
        try (TupleQueryResult result = from.prepareTupleQuery(query).evaluate()) {
            result.forEach(row -> counts.merge(row, 1, Integer::sum));
        }
        return counts;
    }

    @Test
    void aValueThatWasReadIsNotReadAgain() {
        connection.add(ANN, NAME, Values.literal(LONG));
        Value first = objects().get(0);
        connection.add(ANN, KNOWS, ANN);
        assertSame(first, objects().get(0));
        close();
        open(new FulguriteStoreConfig().setValueCacheSize(0));
        Value second = objects().get(0);
        assertEquals(first, second);
        assertNotSame(second, objects().get(0));
    }

    @Test
    void valuesOfTransactionsAreNotKept() {
        for (IsolationLevels level : IsolationLevels.values()) {
            connection.begin(level);
            connection.add(ANN, NAME, Values.literal(LONG + "of a transaction"));
            assertEquals(LONG + "of a transaction", objects().get(0).stringValue());
            connection.rollback();
            String text = LONG + level;
            connection.add(ANN, NAME, Values.literal(text));
            assertEquals(List.of(Values.literal(text)), objects());
            connection.begin(level);
            connection.add(ANN, NAME, Values.literal(LONG));
            assertEquals(2, objects().size(), level::name);
            connection.rollback();
            assertEquals(List.of(Values.literal(text)), objects());
            connection.clear();
            assertEquals(List.of(), objects());
        }
    }

    @Test
    void textsOfLargeResultsAreReadWhateverTheirOrder() {
        int statements = 3000;
        connection.begin(IsolationLevels.NONE);
        for (int number = 0; number < statements; number++) {
            connection.add(Values.iri(EX, "s" + number), NAME, Values.literal(LONG + number % 2000));
        }
        connection.commit();
        for (int size : new int[] {0, 2, FulguriteStoreConfig.VALUE_CACHE_SIZE}) {
            close();
            open(new FulguriteStoreConfig().setValueCacheSize(size));
            List<BindingSet> rows = QueryResults.asList(
                    connection.prepareTupleQuery("SELECT ?s ?o { ?s <" + NAME + "> ?o }").evaluate());
            assertEquals(statements, rows.size());
            for (int at = rows.size() - 1; at >= 0; at -= at % 7 + 1) {
                String subject = rows.get(at).getValue("s").stringValue();
                int number = Integer.parseInt(subject.substring(EX.length() + 1));
                assertEquals(LONG + number % 2000, rows.get(at).getValue("o").stringValue());
            }
        }
    }

    @Test
    void statementsOfLargeResultsAreThoseThatWereAdded() {
        Set<String> added = new HashSet<>();
        connection.begin(IsolationLevels.NONE);
        for (int number = 0; number < 20_000; number++) {
            // Some terms repeat in every batch, others come once.
            Value object = number % 3 == 0 ? Values.literal(LONG + number) : Values.iri(EX, "o" + number % 700);
            IRI graph = number % 5 == 0 ? GRAPH : null;
            Statement statement = Statements.statement(Values.iri(EX, "s" + number / 4), NAME, object, graph);
            // Statements are equal if they differ in their graphs only; their texts are not.
            assertTrue(added.add(statement.toString()));
            connection.add(statement);
        }
        connection.commit();
        assertAllAreRead(added);
        try (RepositoryResult<Statement> some = connection.getStatements(null, NAME, null, false)) {
            for (int row = 0; row < 9_000; row++) {
                assertTrue(added.contains(some.next().toString()));
            }
        }
        assertEquals(added.size(), connection.size());
    }

    /** Compares all statements with these texts. */
    private void assertAllAreRead(Set<String> added) {
        List<String> read = connection.getStatements(null, null, null, false).stream()
                .map(Statement::toString)
                .collect(Collectors.toList());
        assertEquals(added.size(), read.size());
        assertTrue(added.equals(new HashSet<>(read)));
    }

    @Test
    void statementsWithLargeTermsBetweenSmallOnesAreThoseThatWereAdded() {
        String large = "x".repeat(20_000);
        Set<String> added = new HashSet<>();
        connection.begin(IsolationLevels.NONE);
        for (int number = 0; number < 9_000; number++) {
            boolean isLarge = number >= 5_000 && number < 5_400;
            Value object = Values.literal(LONG + number + (isLarge ? large : ""));
            Statement statement = Statements.statement(ANN, NAME, object, null);
            assertTrue(added.add(statement.toString()));
            connection.add(statement);
        }
        connection.commit();
        assertAllAreRead(added);
    }

    @Test
    void lookupsThatFindNothingAreEmptyAtOnce() {
        connection.add(ANN, NAME, Values.literal("Ann"));
        connection.add(ANN, NAME, Values.literal("Ann"), GRAPH);
        try (StoreView view = store.snapshot()) {
            ViewTripleSource source = new ViewTripleSource(view, QuadPattern.ALL);
            assertTrue(source.getStatements(ANN, KNOWS, null) instanceof EmptyIteration);
            assertTrue(source.getStatements(ANN, NAME, Values.literal("Bob")) instanceof EmptyIteration);
            assertTrue(source.getStatements(KNOWS, null, null) instanceof EmptyIteration);
            assertTrue(source.getStatements(ANN, NAME, Values.literal("Ann"), KNOWS) instanceof EmptyIteration);
            assertEquals(2, count(source.getStatements(ANN, NAME, Values.literal("Ann"))));
            assertEquals(1, count(source.getStatements(ANN, NAME, Values.literal("Ann"), GRAPH)));
            assertEquals(2, count(source.getStatements(ANN, null, null, GRAPH, null)));
        }
    }

    private static int count(CloseableIteration<? extends Statement> statements) {
        int count = 0;
        while (statements.hasNext()) {
            Statement statement = statements.next();
            assertEquals(ANN, statement.getSubject());
            assertTrue(statement.getContext() == null || statement.getContext().equals(GRAPH));
            count++;
        }
        statements.close();
        assertFalse(statements.hasNext());
        return count;
    }

    @Test
    void anObjectIsReturnedAsItIsStored() {
        connection.add(ANN, NAME, Values.literal("Ann", "en-GB"), GRAPH);
        try (StoreView view = store.snapshot()) {
            ViewTripleSource source = new ViewTripleSource(view, QuadPattern.ALL);
            Literal given = Values.literal("Ann", "EN-gb");
            Statement found = source.getStatements(ANN, NAME, given).next();
            assertEquals("en-gb", ((Literal) found.getObject()).getLanguage().orElseThrow());
            assertEquals(GRAPH, found.getContext());
            // The same value of this store needs no other look.
            assertSame(found.getObject(), source.getStatements(ANN, NAME, found.getObject()).next().getObject());
            assertSame(GRAPH, source.getStatements(ANN, NAME, given, GRAPH).next().getContext());
        }
    }

    /** A native call looks at few keys, so the first ones find none of the statements. */
    @Test
    void patternsWithoutAnIndexAreFoundBehindManyOtherStatements() {
        int last = 20_000;
        FulguriteStoreConfig config = new FulguriteStoreConfig("spoc").setDurability(Durability.MEMORY);
        SailRepository sparse = new SailRepository(new FulguriteStore(directory.resolve("sparse").toFile(), config));
        try (SailRepositoryConnection reading = sparse.getConnection()) {
            reading.begin();
            for (int number = 0; number <= last; number++) {
                reading.add(ANN, NAME, Values.literal(number), GRAPH);
            }
            reading.commit();
            Value object = Values.literal(last);
            String query = "PREFIX xsd: <" + XSD.NAMESPACE + "> SELECT ?s { ?s ?p '" + last + "'^^xsd:int . ?s ?q '"
                    + (last - 1) + "'^^xsd:int }";
            for (IsolationLevels level : List.of(IsolationLevels.READ_COMMITTED, IsolationLevels.SNAPSHOT)) {
                reading.begin(level);
                assertEquals(1, reading.getStatements(null, null, object).stream().count());
                assertEquals(1, reading.getStatements(null, null, object, GRAPH, null).stream().count());
                assertTrue(reading.hasStatement(null, null, object, false));
                assertFalse(reading.hasStatement(null, null, Values.literal(-1), false));
                assertEquals(last + 1, reading.size(GRAPH));
                assertEquals(1, reading.prepareTupleQuery(query).evaluate().stream().count());
                reading.commit();
            }
        } finally {
            sparse.shutDown();
        }
    }

    /** Asserts that a read ends with an exception if its thread is interrupted, and leaves the thread so. */
    private static void assertInterrupted(Class<? extends RuntimeException> expected, Executable read) {
        Thread.currentThread().interrupt();
        try {
            assertThrows(expected, read);
        } finally {
            assertTrue(Thread.interrupted());
        }
    }

    @Test
    void anInterruptEndsReadsThatLookAtManyStatements() {
        FulguriteStoreConfig config = new FulguriteStoreConfig("spoc").setDurability(Durability.MEMORY);
        FulguriteStore sparse = new FulguriteStore(directory.resolve("sparse").toFile(), config);
        SailRepository repository = new SailRepository(sparse);
        try (SailRepositoryConnection filling = repository.getConnection()) {
            filling.begin();
            for (int number = 0; number < 20_000; number++) {
                filling.add(ANN, NAME, Values.literal(number));
            }
            filling.commit();
            // NAME is a term of the store, and the object of no statement.
            int kinds = QuadPattern.ALL;
            assertFalse(SnapshotStatements.has(sparse, null, null, NAME, kinds));
            assertInterrupted(
                    InterruptedSailException.class, () -> SnapshotStatements.has(sparse, null, null, NAME, kinds));
            try (SnapshotStatements found = SnapshotStatements.find(sparse, null, null, NAME, kinds)) {
                assertInterrupted(InterruptedSailException.class, found::hasNext);
                assertFalse(found.hasNext());
            }
            try (StoreView view = sparse.snapshot()) {
                ViewTripleSource source = new ViewTripleSource(view, kinds);
                assertInterrupted(QueryInterruptedException.class, () -> source.getStatements(null, null, NAME));
                PathReads backwards = source.paths(NAME, false);
                assertInterrupted(
                        QueryInterruptedException.class, () -> backwards.addNext(source.id(NAME), new IdSet()));
                QuadPattern pattern = new QuadPattern(view, null, null, NAME, kinds);
                try (StatementIteration sorted =
                        new StatementIteration(pattern, StatementOrder.P, InterruptedSailException::new)) {
                    assertInterrupted(InterruptedSailException.class, sorted::hasNext);
                    assertFalse(sorted.hasNext());
                }
            }
        } finally {
            repository.shutDown();
        }
    }

    @Test
    void aPatternOfNamedGraphsIsEstimatedWithoutTheDefaultGraph() {
        FulguriteStoreConfig config = new FulguriteStoreConfig("spoc").setDurability(Durability.MEMORY);
        FulguriteStore sparse = new FulguriteStore(directory.resolve("sparse").toFile(), config);
        SailRepository repository = new SailRepository(sparse);
        try (SailRepositoryConnection filling = repository.getConnection()) {
            filling.begin();
            for (int number = 0; number < 5000; number++) {
                filling.add(ANN, NAME, Values.literal(number));
            }
            for (int number = 0; number < 80; number++) {
                filling.add(Values.iri("http://example.org/" + number), KNOWS, ANN, GRAPH);
            }
            filling.commit();
            String query = "SELECT * { GRAPH ?g { ?s ?p <" + ANN + "> } }";
            TupleExpr parsed = QueryParserUtil.parseTupleQuery(QueryLanguage.SPARQL, query, null).getTupleExpr();
            try (StoreView view = sparse.snapshot()) {
                assertEquals(80, new StoreStatistics(sparse, view, QuadPattern.ALL).getCardinality(parsed));
            }
        } finally {
            repository.shutDown();
        }
    }

    @Test
    void tripleTermsOfStatementsAreFoundWithAndWithoutAnIndex() {
        connection.begin();
        for (int number = 0; number < 600; number++) {
            Triple triple = Values.triple(ANN, NAME, Values.literal(number));
            connection.add(triple, KNOWS, ANN);
            connection.add(ANN, KNOWS, triple, GRAPH);
        }
        connection.add(ANN, KNOWS, Values.triple(ANN, KNOWS, Values.triple(ANN, NAME, Values.literal(-1))));
        connection.add(ANN, KNOWS, Values.triple(ANN, NAME, Values.literal(-2)));
        connection.remove(ANN, KNOWS, Values.triple(ANN, NAME, Values.literal(-2)));
        connection.commit();
        assertEquals("602 1 1 0 1", triples(store));
        SailRepository other = new SailRepository(
                new FulguriteStore(directory.resolve("other").toFile(), new FulguriteStoreConfig("spoc")));
        try (SailRepositoryConnection copy = other.getConnection()) {
            copy.add(connection.getStatements(null, null, null));
            assertEquals(triples(store), triples((FulguriteStore) other.getSail()));
        } finally {
            other.shutDown();
        }
    }

    /** The numbers of triple terms of some patterns. */
    private static String triples(FulguriteStore of) {
        try (StoreView view = of.snapshot()) {
            ViewTripleSource source = new ViewTripleSource(view, QuadPattern.ALL);
            return Stream.of(
                            source.getRdfStarTriples(null, null, null),
                            source.getRdfStarTriples(ANN, NAME, Values.literal(7)),
                            source.getRdfStarTriples(ANN, NAME, Values.literal(-1)),
                            source.getRdfStarTriples(ANN, NAME, Values.literal(-2)),
                            source.getRdfStarTriples(null, KNOWS, null))
                    .map(found -> "" + Iterations.asList(found).size())
                    .collect(Collectors.joining(" "));
        }
    }

    @Test
    void rowsOfAQueryAreKeptInAFileAboveTheThreshold() {
        assertTrue(new QueryEvaluation(store).collections().get() instanceof DefaultCollectionFactory);
        FulguriteStoreConfig config = new FulguriteStoreConfig();
        config.setIterationCacheSyncThreshold(2);
        close();
        open(config);
        try (CollectionFactory collections = new QueryEvaluation(store).collections().get()) {
            assertTrue(collections instanceof MapDb3CollectionFactory);
        }
        connection.begin();
        fill(connection, false);
        connection.commit();
        String query = "SELECT DISTINCT ?o { ?s <" + NAME + "> ?o } ORDER BY ?o";
        assertEquals(8, connection.prepareTupleQuery(query).evaluate().stream().count());
    }

    @Test
    void lookupsHaveTheSolutionsOfAMemoryStore() {
        SailRepository other = new SailRepository(new MemoryStore());
        try (SailRepositoryConnection memory = other.getConnection()) {
            for (boolean hasNamedGraphs : new boolean[] {false, true}) {
                for (SailRepositoryConnection target : List.of(connection, memory)) {
                    target.begin();
                    fill(target, hasNamedGraphs);
                    target.commit();
                }
                for (String query : QUERIES) {
                    // Not assertEquals, whose message would have all solutions.
                    assertTrue(solutions(memory, query).equals(solutions(connection, query)), query);
                }
            }
        } finally {
            other.shutDown();
        }
    }

    private static void fill(SailRepositoryConnection target, boolean isNamed) {
        for (int number = 0; number < 60; number++) {
            IRI subject = Values.iri(EX, "n" + number % 20);
            IRI object = Values.iri(EX, "n" + number * 7 % 20);
            Value name = number % 3 == 0 ? Values.literal(number % 9) : Values.literal("n" + number % 5, "en");
            if (isNamed) {
                target.add(subject, KNOWS, object, GRAPH, Values.iri(EX, "g" + number % 3));
                target.add(subject, NAME, name, GRAPH);
            } else {
                target.add(subject, KNOWS, object);
                target.add(subject, NAME, name);
            }
        }
    }
}
