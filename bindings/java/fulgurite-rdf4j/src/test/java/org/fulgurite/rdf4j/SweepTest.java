package org.fulgurite.rdf4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.eclipse.rdf4j.common.iteration.CloseableIteration;
import org.eclipse.rdf4j.common.transaction.IsolationLevels;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Literal;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.util.Values;
import org.eclipse.rdf4j.query.Query.QueryType;
import org.eclipse.rdf4j.query.QueryLanguage;
import org.eclipse.rdf4j.query.QueryResults;
import org.eclipse.rdf4j.query.algebra.TupleExpr;
import org.eclipse.rdf4j.query.impl.EmptyBindingSet;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.repository.sail.SailRepositoryConnection;
import org.eclipse.rdf4j.sail.SailConnection;
import org.eclipse.rdf4j.sail.SailException;
import org.fulgurite.Database;
import org.fulgurite.DatabaseOptions;
import org.fulgurite.Table;
import org.fulgurite.TableOptions;
import org.fulgurite.WriteTransaction;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.rdf4j.config.FulguriteStoreConfig;
import org.fulgurite.rdf4j.config.QueryEngine;
import org.fulgurite.rdf4j.values.StoredValue;
import org.fulgurite.rdf4j.values.ValueGroup;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Sweeps of an open store. Values of results have the ids of their terms, and a term that was removed and added again
 * has another id. So no value from before a sweep may be looked up by its id.
 */
class SweepTest {
    private static final IRI ANN = Values.iri("http://example.org/ann");
    private static final IRI NAME = Values.iri("http://example.org/name");
    private static final String QUERY = "SELECT ?s ?p ?o { ?s ?p ?o }";
    private static final int COUNT = 1000;
    private static final int ROUNDS = 100;

    /** After as many rounds, the threads wait for a sweep. */
    private static final int ROUNDS_TO_SWEEP = 10;

    @TempDir
    Path directory;

    private static Literal literal(int number) {
        return Values.literal("a text that is longer than an id " + number);
    }

    private FulguriteStore store(FulguriteStoreConfig config) {
        return new FulguriteStore(directory.toFile(), config);
    }

    private static void add(SailRepositoryConnection connection) {
        connection.begin();
        for (int number = 0; number < COUNT; number++) {
            connection.add(ANN, NAME, literal(number));
        }
        connection.commit();
    }

    private static List<Value> objects(SailRepositoryConnection connection) {
        return connection.prepareTupleQuery(QUERY).evaluate().stream()
                .map(row -> row.getValue("o"))
                .collect(Collectors.toList());
    }

    private static Set<String> texts(List<Value> values) {
        return values.stream().map(Value::stringValue).collect(Collectors.toSet());
    }

    @ParameterizedTest
    @EnumSource(QueryEngine.class)
    void valuesFromBeforeASweepAreStillThoseOfTheirTexts(QueryEngine engine) {
        FulguriteStore store = store(new FulguriteStoreConfig().setQueryEngine(engine));
        SailRepository repository = new SailRepository(store);
        List<Value> objects;
        List<Statement> statements;
        try (SailRepositoryConnection connection = repository.getConnection()) {
            add(connection);
            objects = objects(connection);
            statements = QueryResults.asList(connection.getStatements(null, null, null));
            connection.clear();
        }
        // The literals, ANN and NAME.
        assertEquals(COUNT + 2, store.sweep());
        assertEquals(0, store.sweep());
        Set<String> expected = texts(objects);
        assertEquals(COUNT, expected.size());
        assertTrue(expected.contains(literal(COUNT - 1).stringValue()));
        try (SailRepositoryConnection connection = repository.getConnection()) {
            // All terms get other ids.
            add(connection);
            List<Value> newObjects = objects(connection);
            assertEquals(expected, texts(newObjects));
            for (Statement statement : statements) {
                assertTrue(
                        connection.hasStatement(
                                statement.getSubject(), statement.getPredicate(), statement.getObject(), false),
                        statement::toString);
            }
            for (Value object : objects) {
                List<Statement> found = QueryResults.asList(connection.getStatements(null, null, object));
                assertEquals(1, found.size(), object::toString);
                // Neither takes the other for another term because of its id.
                assertEquals(object, found.get(0).getObject());
                assertEquals(found.get(0).getObject(), object);
                assertTrue(newObjects.contains(object), object::toString);
            }
            assertNotEquals(objects.get(0), newObjects.get(newObjects.indexOf(objects.get(1))));
            connection.begin();
            statements.forEach(connection::remove);
            connection.commit();
            assertEquals(0, connection.size());
        }
        repository.shutDown();
    }

    @Test
    void aSweepIsRefusedWhileAConnectionIsOpen() {
        FulguriteStore store = store(new FulguriteStoreConfig());
        SailException early = assertThrows(SailException.class, store::sweep);
        assertTrue(early.getMessage().contains("call init() first"), early.getMessage());
        SailRepository repository = new SailRepository(store);
        try (SailRepositoryConnection connection = repository.getConnection();
                SailRepositoryConnection other = repository.getConnection()) {
            add(connection);
            connection.clear();
            SailException refused = assertThrows(SailException.class, store::sweep);
            assertTrue(refused.getMessage().startsWith("connections to the store are open: 2; "), refused.getMessage());
            assertEquals(0, other.size());
        }
        assertEquals(COUNT + 2, store.sweep());
        repository.shutDown();
    }

    private static void assertResultIsOpen(FulguriteStore store) {
        String message = assertThrows(SailException.class, store::sweep).getMessage();
        assertTrue(message.startsWith("results of closed connections are open: 1; "), message);
    }

    private static CloseableIteration<?> query(SailConnection connection) {
        TupleExpr query = connection.prepareQuery(QueryLanguage.SPARQL, QueryType.TUPLE, QUERY, null).orElseThrow();
        return connection.evaluate(query, null, EmptyBindingSet.getInstance(), false);
    }

    /** RDF4J closes the connection nevertheless, and then throws an exception. */
    @Test
    void aSweepIsRefusedWhileAResultOfAClosedConnectionIsOpen() {
        FulguriteStore store = store(new FulguriteStoreConfig().setQueryEngine(QueryEngine.STORE));
        SailRepository repository = new SailRepository(store);
        for (Function<SailConnection, CloseableIteration<?>> read :
                List.<Function<SailConnection, CloseableIteration<?>>>of(
                        sail -> sail.getStatements(null, NAME, null, false),
                        sail -> sail.getStatements(null, NAME, null, false, null, ANN),
                        SweepTest::query)) {
            try (SailRepositoryConnection connection = repository.getConnection()) {
                add(connection);
            }
            SailConnection connection = store.getConnection();
            CloseableIteration<?> result = read.apply(connection);
            connection.begin();
            connection.clear();
            connection.commit();
            assertThrows(SailException.class, connection::close);
            assertFalse(connection.isOpen());
            assertResultIsOpen(store);
            int count = 0;
            for (; result.hasNext(); count++) {
                result.next();
            }
            assertEquals(COUNT, count);
            result.close();
            assertEquals(COUNT + 2, store.sweep());
        }
        repository.shutDown();
    }

    /** RDF4J does not close the rest of a connection whose transaction cannot be rolled back. */
    @Test
    void aConnectionThatCouldNotRollBackIsNotOpen() {
        FulguriteStore store = store(new FulguriteStoreConfig());
        SailConnection connection = store.getConnection();
        connection.begin(IsolationLevels.SNAPSHOT);
        DatabaseOptions options = Database.options().create(true).mergeFunction("closing", (key, value, operands) -> {
            // A merge function cannot end a transaction.
            assertThrows(FulguriteException.class, connection::close);
            return operands.get(0);
        });
        try (Database database = options.open(directory.resolve("other.ful"))) {
            Table table = database.createTable("t", new TableOptions().mergeFunction("closing"));
            byte[] key = {1};
            try (WriteTransaction txn = database.beginWrite()) {
                txn.merge(table, key, new byte[] {7});
                assertEquals(7, txn.get(table, key)[0]);
            }
        }
        assertFalse(connection.isOpen());
        // The native transaction is open until the store is shut down.
        assertResultIsOpen(store);
        store.shutDown();
        store.init();
        assertEquals(0, store.sweep());
        store.shutDown();
    }

    @Test
    void aSweepIsRefusedIfAValueOfAnEarlierResultCannotBeRead() {
        FulguriteStore store = store(new FulguriteStoreConfig());
        SailRepository repository = new SailRepository(store);
        try (SailRepositoryConnection connection = repository.getConnection()) {
            add(connection);
            connection.clear();
        }
        // No term has this id.
        StoredValue missing = new ValueGroup(store.committedTerms(), null).add((1L << 56) + (1L << 40));
        String message = assertThrows(SailException.class, store::sweep).getMessage();
        assertTrue(message.startsWith("nothing was swept: values of earlier results cannot be read: "), message);
        assertThrows(SailException.class, missing::stringValue);
        repository.shutDown();
        repository.init();
        assertEquals(COUNT + 2, store.sweep());
        repository.shutDown();
    }

    @Test
    void aSweepIsRefusedWhileTheProcessHasTheFileOpenOnceMore() {
        FulguriteStore store = store(new FulguriteStoreConfig());
        store.init();
        FulguriteStore again = store(new FulguriteStoreConfig());
        again.init();
        SailException refused = assertThrows(SailException.class, store::sweep);
        assertTrue(refused.getMessage().contains("open more than once; close the other"), refused.getMessage());
        again.shutDown();
        try (Database database = Database.open(directory.resolve(FulguriteStore.FILE_NAME))) {
            assertTrue(database.tableNames().contains("terms"));
            assertThrows(SailException.class, store::sweep);
        }
        assertEquals(0, store.sweep());
        store.shutDown();
    }

    @Test
    void valuesOfThreadsThatOpenConnectionsBetweenSweepsAreRight() throws Exception {
        FulguriteStore store = store(new FulguriteStoreConfig());
        SailRepository repository = new SailRepository(store);
        repository.init();
        Semaphore ends = new Semaphore(0);
        AtomicLong removed = new AtomicLong();
        // Meanwhile, both threads have no connection.
        CyclicBarrier betweenConnections = new CyclicBarrier(2, () -> removed.addAndGet(store.sweep()));
        ExecutorService pool = Executors.newFixedThreadPool(2);
        List<Future<?>> threads = new ArrayList<>();
        for (int thread = 0; thread < 2; thread++) {
            IRI own = Values.iri("http://example.org/thread/" + thread);
            threads.add(pool.submit(() -> {
                changeAndRead(repository, own, ends, betweenConnections);
                return null;
            }));
        }
        for (int end = 0; end < 2 * ROUNDS && ends.tryAcquire(1, TimeUnit.MINUTES); end++) {
            try {
                removed.addAndGet(store.sweep());
            } catch (SailException refused) {
                assertTrue(refused.getMessage().startsWith("connections to the store are open"), refused::toString);
            }
        }
        for (Future<?> thread : threads) {
            thread.get();
        }
        pool.shutdown();
        // Each of these sweeps has removed the literals, unless another one has done so just before.
        assertTrue(removed.get() >= 20 * (ROUNDS / ROUNDS_TO_SWEEP), removed::toString);
        store.sweep();
        assertEquals(0, store.sweep());
        repository.shutDown();
    }

    /** Adds and removes the same statements again and again, and reads them by the values of the time before. */
    private static void changeAndRead(
            SailRepository repository, IRI own, Semaphore ends, CyclicBarrier betweenConnections) throws Exception {
        List<Value> before = List.of();
        for (int round = 1; round <= ROUNDS; round++) {
            try (SailRepositoryConnection connection = repository.getConnection()) {
                connection.begin();
                for (int number = 0; number < 20; number++) {
                    connection.add(own, NAME, literal(number));
                }
                connection.commit();
                for (Value value : before) {
                    assertTrue(connection.hasStatement(own, NAME, value, false), value::toString);
                }
                before = QueryResults.asList(connection.getStatements(own, NAME, null)).stream()
                        .map(Statement::getObject)
                        .collect(Collectors.toList());
                assertEquals(20, before.size());
                connection.remove(own, null, null);
            }
            if (round % ROUNDS_TO_SWEEP == 0) {
                betweenConnections.await(1, TimeUnit.MINUTES);
            }
            ends.release();
        }
    }
}
