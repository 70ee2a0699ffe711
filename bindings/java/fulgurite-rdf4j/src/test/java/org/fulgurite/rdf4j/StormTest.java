package org.fulgurite.rdf4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.eclipse.rdf4j.common.transaction.IsolationLevels;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.ValueFactory;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;
import org.eclipse.rdf4j.query.QueryEvaluationException;
import org.eclipse.rdf4j.query.QueryInterruptedException;
import org.eclipse.rdf4j.query.QueryResults;
import org.eclipse.rdf4j.query.TupleQuery;
import org.eclipse.rdf4j.query.TupleQueryResult;
import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.RepositoryConnection;
import org.eclipse.rdf4j.repository.RepositoryException;
import org.eclipse.rdf4j.repository.RepositoryResult;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.sail.SailException;
import org.fulgurite.Database;
import org.fulgurite.exceptions.FulguriteException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * 32 threads query and write. Queries and connections are closed from other threads after 1 to 50 ms, threads are
 * interrupted, and queries reach their maximum execution time. Nothing crashes or hangs, and every commit that was
 * acknowledged is there at the end. The system property {@code fulgurite.storm.seconds} sets the least duration. A slow
 * machine goes on until it has enough operations.
 */
class StormTest {
    private static final int THREADS = 32;
    private static final long SECONDS = Long.getLong("fulgurite.storm.seconds", 20);
    private static final long OPERATIONS_MIN = 500;

    /** A thread that has not ended after so long hangs. */
    private static final long PATIENCE_SECONDS = 300;

    private static final ValueFactory VALUES = SimpleValueFactory.getInstance();
    private static final IRI COMMIT = VALUES.createIRI("http://example.org/commit");
    private static final IRI LINK = VALUES.createIRI("http://example.org/link");
    private static final String SLOW = "SELECT * { ?a <" + LINK + "> ?b . ?c <" + LINK + "> ?d . ?e <" + LINK + "> ?f }";
    private static final String FAST = "SELECT * { ?a <" + LINK + "> ?b . ?b <" + LINK + "> ?c }";
    private static final String PATHS =
            "SELECT * { ?a <" + LINK + "> ?b . ?b <" + LINK + ">+ ?c . ?c <" + LINK + ">* ?a }";
    private static final int ROWS_MAX = 20_000;

    @TempDir
    Path directory;

    private final ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);
    private final AtomicLong numbers = new AtomicLong();
    private final Set<Long> acknowledged = ConcurrentHashMap.newKeySet();
    private final Set<Long> attempted = ConcurrentHashMap.newKeySet();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final AtomicLong operations = new AtomicLong();
    private final AtomicLong timeouts = new AtomicLong();
    private Repository repository;

    @Test
    void nothingIsLostInAStorm() throws Exception {
        repository = new SailRepository(new FulguriteStore(directory.toFile()));
        try (RepositoryConnection connection = repository.getConnection()) {
            connection.begin(IsolationLevels.NONE);
            for (int number = 0; number < 300; number++) {
                connection.add(node(number), LINK, node(number * 7 % 300));
            }
            connection.commit();
        }
        long deadline = System.nanoTime() + Duration.ofSeconds(SECONDS).toNanos();
        List<Thread> threads = new ArrayList<>();
        for (int index = 0; index < THREADS; index++) {
            Random random = new Random(index);
            Thread thread = new Thread(() -> run(random, deadline), "storm-" + index);
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join(TimeUnit.SECONDS.toMillis(SECONDS + PATIENCE_SECONDS));
            assertTrue(!thread.isAlive(), () -> thread.getName() + " hangs: " + List.of(thread.getStackTrace()));
        }
        timer.shutdownNow();
        if (failure.get() != null) {
            throw new AssertionError(failure.get());
        }
        assertTrue(timeouts.get() > 0, "no query has reached its maximum execution time");
        checkCommits();
        repository.shutDown();
        try (Database database = Database.open(directory.resolve(FulguriteStore.FILE_NAME))) {
            assertTrue(database.check().isSound());
        }
        System.out.println(operations + " operations, " + acknowledged.size() + " commits, " + timeouts + " time-outs");
    }

    private static IRI node(long number) {
        return VALUES.createIRI("http://example.org/node/" + number);
    }

    private void checkCommits() {
        Set<Long> found = new HashSet<>();
        try (RepositoryConnection connection = repository.getConnection();
                RepositoryResult<Statement> statements = connection.getStatements(null, COMMIT, null)) {
            for (Statement statement : statements) {
                found.add(((org.eclipse.rdf4j.model.Literal) statement.getObject()).longValue());
            }
        }
        Set<Long> lost = new HashSet<>(acknowledged);
        lost.removeAll(found);
        assertEquals(Set.of(), lost);
        Set<Long> invented = new HashSet<>(found);
        invented.removeAll(attempted);
        assertEquals(Set.of(), invented);
    }

    private void run(Random random, long deadline) {
        while (failure.get() == null
                && (System.nanoTime() - deadline < 0 || operations.get() < OPERATIONS_MIN)) {
            operations.incrementAndGet();
            try {
                if (random.nextInt(3) == 0) {
                    write(random);
                } else {
                    query(random);
                }
            } catch (RepositoryException
                    | QueryEvaluationException
                    | SailException
                    | FulguriteException
                    | IllegalStateException
                    | java.util.NoSuchElementException expected) {
                // It was closed, interrupted, or in conflict.
            } catch (Throwable error) {
                failure.compareAndSet(null, error);
            }
            Thread.interrupted();
        }
    }

    /** Calls {@code action} soon, on another thread. */
    private void soon(Random random, Runnable action) {
        timer.schedule(
                () -> {
                    try {
                        action.run();
                    } catch (RepositoryException
                            | QueryEvaluationException
                            | SailException
                            | IllegalStateException expected) {
                        // It has ended, or iterations of the connection are still open.
                    } catch (Throwable error) {
                        failure.compareAndSet(null, error);
                    }
                },
                1 + random.nextInt(50),
                TimeUnit.MILLISECONDS);
    }

    private void query(Random random) {
        try (RepositoryConnection connection = repository.getConnection()) {
            if (random.nextBoolean()) {
                connection.begin(IsolationLevels.values()[random.nextInt(6)]);
            }
            String text = List.of(SLOW, FAST, PATHS).get(random.nextInt(3));
            TupleQuery query = connection.prepareTupleQuery(text);
            // A slow query has more rows than a second has time for.
            boolean isTimed = random.nextInt(8) == 0;
            query.setMaxExecutionTime(isTimed ? 1 : 0);
            try (TupleQueryResult result = query.evaluate()) {
                if (!isTimed) {
                    disturb(random, connection, result);
                }
                int rows = 0;
                while (result.hasNext() && (isTimed || rows++ < ROWS_MAX)) {
                    result.next().forEach(binding -> binding.getValue().stringValue());
                }
            } catch (QueryInterruptedException expected) {
                timeouts.addAndGet(isTimed ? 1 : 0);
                throw expected;
            }
            if (random.nextInt(4) == 0) {
                QueryResults.asList(connection.getStatements(node(random.nextInt(300)), null, null));
                connection.size();
            }
        }
    }

    private void disturb(Random random, RepositoryConnection connection, TupleQueryResult result) {
        switch (random.nextInt(5)) {
            case 0:
                soon(random, result::close);
                break;
            case 1:
                soon(random, connection::close);
                break;
            case 2:
                Thread self = Thread.currentThread();
                soon(random, self::interrupt);
                break;
            default:
                break;
        }
    }

    private void write(Random random) {
        long number = numbers.incrementAndGet();
        try (RepositoryConnection connection = repository.getConnection()) {
            connection.begin(IsolationLevels.values()[random.nextInt(6)]);
            if (random.nextInt(4) == 0) {
                soon(random, connection::close);
            }
            connection.add(node(random.nextInt(300)), COMMIT, VALUES.createLiteral(number));
            for (int change = random.nextInt(5); change > 0; change--) {
                IRI subject = node(random.nextInt(300));
                connection.remove(subject, LINK, null);
                connection.add(subject, LINK, node(random.nextInt(300)));
            }
            if (random.nextInt(5) == 0) {
                connection.rollback();
                return;
            }
            attempted.add(number);
            connection.commit();
            acknowledged.add(number);
        }
    }
}
