package org.fulgurite.rdf4j;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.eclipse.rdf4j.common.transaction.IsolationLevels;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.ValueFactory;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;
import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.RepositoryConnection;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.fulgurite.CheckReport;
import org.fulgurite.Database;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A virtual machine that commits is killed. The next one finds every commit that was acknowledged, whole. The system
 * property {@code fulgurite.kills} sets how often.
 */
class KillTest {
    private static final int KILLS = Integer.getInteger("fulgurite.kills", 10);
    private static final ValueFactory VALUES = SimpleValueFactory.getInstance();
    private static final IRI COMMIT = VALUES.createIRI("http://example.org/commit");
    private static final int PARTS = 20;

    @TempDir
    Path directory;

    private static IRI part(int part) {
        return VALUES.createIRI("http://example.org/part/" + part);
    }

    /** What the killed virtual machines run: commits numbers, and prints each after its commit. */
    static final class Writer {
        public static void main(String[] arguments) {
            Repository repository = new SailRepository(new FulguriteStore(Path.of(arguments[0]).toFile()));
            try (RepositoryConnection connection = repository.getConnection()) {
                for (long number = connection.size() / PARTS; ; number++) {
                    connection.begin(IsolationLevels.SNAPSHOT_READ);
                    for (int part = 0; part < PARTS; part++) {
                        connection.add(part(part), COMMIT, VALUES.createLiteral(number));
                    }
                    connection.commit();
                    System.out.println(number);
                }
            }
        }
    }

    @Test
    void everyAcknowledgedCommitSurvives() throws Exception {
        Random random = new Random(1);
        for (int kill = 0; kill < KILLS; kill++) {
            long acknowledged = runAndKill(random);
            Repository repository = new SailRepository(new FulguriteStore(directory.toFile()));
            try (RepositoryConnection connection = repository.getConnection()) {
                long size = connection.size();
                assertTrue(size % PARTS == 0, () -> size + " statements: a commit is not whole");
                assertTrue(size / PARTS > acknowledged, () -> size / PARTS + " commits, acknowledged " + acknowledged);
                assertTrue(connection.hasStatement(part(0), COMMIT, VALUES.createLiteral(acknowledged), false));
            }
            repository.shutDown();
            try (Database database = Database.open(directory.resolve(FulguriteStore.FILE_NAME))) {
                CheckReport report = database.check();
                assertTrue(report.isSound(), () -> report.damages().toString());
            }
        }
    }

    /** Returns the last number that a writer has printed before it was killed. */
    private long runAndKill(Random random) throws Exception {
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
        long last = -1;
        int commits = 1 + random.nextInt(200);
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (!line.isEmpty() && Character.isDigit(line.charAt(0))) {
                    last = Long.parseLong(line);
                    if (--commits == 0) {
                        // Unlike that of the process, this leaves its output to read.
                        process.toHandle().destroyForcibly();
                    }
                }
            }
        }
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));
        assertTrue(last >= 0, "the writer committed nothing");
        return last;
    }
}
