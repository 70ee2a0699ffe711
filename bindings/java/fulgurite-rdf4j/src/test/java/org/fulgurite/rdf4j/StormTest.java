package org.fulgurite.rdf4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
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
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.exceptions.RetryableException;
import org.fulgurite.rdf4j.config.FulguriteStoreConfig;
import org.fulgurite.rdf4j.config.QueryEngine;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * 32 threads query and write, half of them in a store that evaluates the queries itself. Queries and connections are
 * closed from other threads after 1 to 50 ms, threads are interrupted, and queries reach their maximum execution time.
 * Nothing crashes or hangs. Calls that nothing disturbs fail by conflicts only. At the end, every acknowledged commit is
 * there, and the stores have closed their files. The system property {@code fulgurite.storm.seconds} sets the least
 * duration. A slow machine continues until it has enough operations.
 */
class StormTest {
    private static final int THREADS = 32;
    private static final long SECONDS = Long.getLong("fulgurite.storm.seconds", 60);
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

    /** The kinds of errors of objects that are closed, and of transactions that conflict. */
    private static final Set<ErrorKind> EXPECTED = EnumSet.of(
            ErrorKind.CLOSED, ErrorKind.STOPPED, ErrorKind.CONFLICT, ErrorKind.TRANSACTION_TOO_OLD);

    @TempDir
    Path directory;

    private final ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);
    private final AtomicLong numbers = new AtomicLong();
    private final Set<Long> acknowledged = ConcurrentHashMap.newKeySet();
    private final Set<Long> attempted = ConcurrentHashMap.newKeySet();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final AtomicLong operations = new AtomicLong();
    private final AtomicLong timeouts = new AtomicLong();

    @Test
    void nothingIsLostInAStorm() throws Exception {
        List<Repository> repositories = new ArrayList<>();
        for (QueryEngine engine : QueryEngine.values()) {
            FulguriteStoreConfig config = new FulguriteStoreConfig().setQueryEngine(engine);
            Repository repository = new SailRepository(new FulguriteStore(directory(engine).toFile(), config));
            repositories.add(repository);
            try (RepositoryConnection connection = repository.getConnection()) {
                connection.begin(IsolationLevels.NONE);
                for (int number = 0; number < 300; number++) {
                    connection.add(node(number), LINK, node(number * 7 % 300));
                }
                connection.commit();
            }
        }
        long deadline = System.nanoTime() + Duration.ofSeconds(SECONDS).toNanos();
        List<Thread> threads = new ArrayList<>();
        for (int index = 0; index < THREADS; index++) {
            Worker worker = new Worker(new Random(index), repositories.get(index % repositories.size()));
            Thread thread = new Thread(() -> worker.run(deadline), "storm-" + index);
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
        checkCommits(repositories);
        repositories.forEach(Repository::shutDown);
        checkClosed();
        for (QueryEngine engine : QueryEngine.values()) {
            try (Database database = Database.open(directory(engine).resolve(FulguriteStore.FILE_NAME))) {
                assertTrue(database.check().isSound());
            }
        }
        System.out.println(operations + " operations, " + acknowledged.size() + " commits, " + timeouts + " time-outs");
    }

    private Path directory(QueryEngine engine) {
        return directory.resolve(engine.name());
    }

    /** Checks that no descriptor and no map of the process is of a store. Evaluations that were closed end soon. */
    private void checkClosed() throws Exception {
        if (!Files.isDirectory(Path.of("/proc/self/fd"))) {
            // Only Linux lists the files of a process there.
            return;
        }
        long deadline = System.nanoTime() + Duration.ofSeconds(10).toNanos();
        while (!openFiles().isEmpty() && System.nanoTime() - deadline < 0) {
            TimeUnit.MILLISECONDS.sleep(10);
        }
        assertEquals(Set.of(), openFiles());
    }

    private Set<String> openFiles() throws IOException {
        String stores = directory.toRealPath().toString();
        Set<String> open = new TreeSet<>();
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            for (Path descriptor : (Iterable<Path>) descriptors::iterator) {
                try {
                    open.add(Files.readSymbolicLink(descriptor).toString());
                } catch (NoSuchFileException closed) {
                    // That of the list itself, or of another thread.
                }
            }
        }
        open.addAll(Files.readAllLines(Path.of("/proc/self/maps")));
        open.removeIf(name -> !name.contains(stores));
        return open;
    }

    private static IRI node(long number) {
        return VALUES.createIRI("http://example.org/node/" + number);
    }

    private void checkCommits(List<Repository> repositories) {
        Set<Long> found = new HashSet<>();
        for (Repository repository : repositories) {
            try (RepositoryConnection connection = repository.getConnection();
                    RepositoryResult<Statement> statements = connection.getStatements(null, COMMIT, null)) {
                for (Statement statement : statements) {
                    found.add(((org.eclipse.rdf4j.model.Literal) statement.getObject()).longValue());
                }
            }
        }
        Set<Long> lost = new HashSet<>(acknowledged);
        lost.removeAll(found);
        assertEquals(Set.of(), lost);
        Set<Long> invented = new HashSet<>(found);
        invented.removeAll(attempted);
        assertEquals(Set.of(), invented);
    }

    /** What one thread does. */
    private final class Worker {
        private final Random random;
        private final Repository repository;

        /** Closings and interrupts that are still to come. */
        private final AtomicInteger pending = new AtomicInteger();

        /** Whether the running operation may be closed, interrupted or out of time. */
        private boolean isDisturbed;

        Worker(Random random, Repository repository) {
            this.random = random;
            this.repository = repository;
        }

        void run(long deadline) {
            while (failure.get() == null
                    && (System.nanoTime() - deadline < 0 || operations.get() < OPERATIONS_MIN)) {
                operations.incrementAndGet();
                Thread.interrupted();
                // In this order: an interrupt that is not pending any more has been made.
                isDisturbed = pending.get() > 0;
                isDisturbed |= Thread.currentThread().isInterrupted();
                try {
                    if (random.nextInt(3) == 0) {
                        write();
                    } else {
                        query();
                    }
                } catch (RepositoryException
                        | QueryEvaluationException
                        | SailException
                        | FulguriteException
                        | IllegalStateException
                        | NoSuchElementException error) {
                    if (!isExpected(error)) {
                        failure.compareAndSet(null, error);
                    }
                } catch (Throwable error) {
                    failure.compareAndSet(null, error);
                }
            }
        }

        /** Whether an error is one of closing, an interrupt or a time-out, or of a conflict. */
        private boolean isExpected(Throwable error) {
            for (Throwable cause = error; cause != null; cause = cause.getCause()) {
                if (cause instanceof FulguriteException) {
                    ErrorKind kind = ((FulguriteException) cause).kind();
                    return EXPECTED.contains(kind) && (isDisturbed || cause instanceof RetryableException);
                }
            }
            return isDisturbed;
        }

        /** Calls {@code action} soon, on another thread. */
        private void soon(Runnable action) {
            isDisturbed = true;
            pending.incrementAndGet();
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
                        } finally {
                            pending.decrementAndGet();
                        }
                    },
                    1 + random.nextInt(50),
                    TimeUnit.MILLISECONDS);
        }

        private void query() {
            try (RepositoryConnection connection = repository.getConnection()) {
                if (random.nextBoolean()) {
                    connection.begin(IsolationLevels.values()[random.nextInt(6)]);
                }
                String text = List.of(SLOW, FAST, PATHS).get(random.nextInt(3));
                TupleQuery query = connection.prepareTupleQuery(text);
                // A slow query has more rows than a second has time for.
                boolean isTimed = random.nextInt(8) == 0;
                query.setMaxExecutionTime(isTimed ? 1 : 0);
                isDisturbed |= isTimed;
                try (TupleQueryResult result = query.evaluate()) {
                    if (!isTimed) {
                        disturb(connection, result);
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

        private void disturb(RepositoryConnection connection, TupleQueryResult result) {
            switch (random.nextInt(5)) {
                case 0:
                    soon(result::close);
                    break;
                case 1:
                    soon(connection::close);
                    break;
                case 2:
                    soon(Thread.currentThread()::interrupt);
                    break;
                default:
                    break;
            }
        }

        private void write() {
            long number = numbers.incrementAndGet();
            try (RepositoryConnection connection = repository.getConnection()) {
                connection.begin(IsolationLevels.values()[random.nextInt(6)]);
                if (random.nextInt(4) == 0) {
                    soon(connection::close);
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
}
