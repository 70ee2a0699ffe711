package org.fulgurite.rdf4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.eclipse.rdf4j.common.transaction.IsolationLevels;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Literal;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.ValueFactory;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;
import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.RepositoryConnection;
import org.eclipse.rdf4j.repository.RepositoryResult;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.fulgurite.CheckReport;
import org.fulgurite.Database;
import org.fulgurite.rdf4j.server.ServedRepository;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A virtual machine with four threads that commit is killed. The next one finds every commit that was acknowledged,
 * whole. Each commit adds statements, and removes those of an earlier one. The system property {@code fulgurite.kills}
 * sets how often.
 */
class KillTest {
    private static final int KILLS = Integer.getInteger("fulgurite.kills", 20);
    private static final ValueFactory VALUES = SimpleValueFactory.getInstance();
    private static final IRI COMMIT = VALUES.createIRI("http://example.org/commit");
    private static final int PARTS = 20;

    /** A writer commits every number that has its own rest by this one. */
    private static final int WRITERS = 4;

    /** How many of a writer's commits have statements. */
    private static final int KEPT = 10;

    @TempDir
    Path directory;

    private static IRI part(int part) {
        return VALUES.createIRI("http://example.org/part/" + part);
    }

    /** The numbers of commits, each with the number of its statements. */
    private static Map<Long, Integer> commits(RepositoryConnection connection) {
        Map<Long, Integer> commits = new HashMap<>();
        try (RepositoryResult<Statement> found = connection.getStatements(null, COMMIT, null)) {
            for (Statement statement : found) {
                commits.merge(((Literal) statement.getObject()).longValue(), 1, Integer::sum);
            }
        }
        return commits;
    }

    /** The newest number of a writer; one before its first if it has none. */
    private static long newest(Map<Long, Integer> commits, int writer) {
        return commits.keySet().stream()
                .filter(number -> number % WRITERS == writer)
                .max(Long::compare)
                .orElse((long) writer - WRITERS);
    }

    /** What the killed virtual machines run: commits numbers, and prints each after its commit. */
    static final class Writer {
        public static void main(String[] arguments) {
            Thread.setDefaultUncaughtExceptionHandler((thread, error) -> System.exit(1));
            Repository repository = new SailRepository(new FulguriteStore(Path.of(arguments[0]).toFile()));
            Map<Long, Integer> commits;
            try (RepositoryConnection connection = repository.getConnection()) {
                commits = commits(connection);
            }
            for (int writer = 0; writer < WRITERS; writer++) {
                long first = newest(commits, writer) + WRITERS;
                new Thread(() -> write(repository, first)).start();
            }
        }

        private static void write(Repository repository, long first) {
            try (RepositoryConnection connection = repository.getConnection()) {
                for (long number = first; ; number += WRITERS) {
                    connection.begin(IsolationLevels.SNAPSHOT_READ);
                    for (int part = 0; part < PARTS; part++) {
                        connection.add(part(part), COMMIT, VALUES.createLiteral(number));
                    }
                    connection.remove((IRI) null, COMMIT, VALUES.createLiteral(number - WRITERS * KEPT));
                    connection.commit();
                    System.out.println(number);
                }
            }
        }
    }

    @Test
    void everyAcknowledgedCommitSurvives() throws Exception {
        String program = ServedRepository.program();
        Random random = new Random(1);
        for (int kill = 0; kill < KILLS; kill++) {
            long[] acknowledged = runAndKill(random);
            Repository repository = new SailRepository(new FulguriteStore(directory.toFile()));
            try (RepositoryConnection connection = repository.getConnection()) {
                Map<Long, Integer> commits = commits(connection);
                Map<Long, Integer> expected = new HashMap<>();
                for (int writer = 0; writer < WRITERS; writer++) {
                    long newest = newest(commits, writer);
                    assertTrue(newest >= acknowledged[writer], () -> newest + ", " + Arrays.toString(acknowledged));
                    for (long number = newest; number >= 0 && number > newest - WRITERS * KEPT; number -= WRITERS) {
                        expected.put(number, PARTS);
                    }
                }
                assertEquals(expected, commits);
                assertEquals(PARTS * commits.size(), connection.size());
            }
            repository.shutDown();
            try (Database database = Database.open(directory.resolve(FulguriteStore.FILE_NAME))) {
                CheckReport report = database.check();
                assertTrue(report.isSound(), () -> report.damages().toString());
            }
        }
        checkQuads(program);
    }

    /** Checks that the indexes have the same statements, and that each has its terms. */
    private void checkQuads(String program) throws Exception {
        String file = directory.resolve(FulguriteStore.FILE_NAME).toString();
        Process check = new ProcessBuilder(program, "rdf", "check", file)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        assertTrue(check.waitFor(60, TimeUnit.SECONDS));
        assertEquals(0, check.exitValue());
    }

    /** Returns the last number that each writer has printed before they were killed, or -WRITERS. */
    private long[] runAndKill(Random random) throws Exception {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        Process process = new ProcessBuilder(
                        java,
                        "-Dfulgurite.directory=" + System.getProperty("fulgurite.directory"),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Writer.class.getName(),
                        directory.toString())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        long[] last = new long[WRITERS];
        Arrays.fill(last, -WRITERS);
        int commits = 1 + random.nextInt(200);
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (!line.isEmpty() && Character.isDigit(line.charAt(0))) {
                    long number = Long.parseLong(line);
                    last[(int) (number % WRITERS)] = number;
                    if (--commits == 0) {
                        // Unlike that of the process, this leaves its output to read.
                        process.toHandle().destroyForcibly();
                    }
                }
            }
        }
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));
        assertTrue(commits <= 0, "a writer failed");
        return last;
    }
}
