package org.fulgurite.rdf4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.util.Values;
import org.eclipse.rdf4j.repository.RepositoryConnection;
import org.eclipse.rdf4j.sail.SailException;
import org.junit.jupiter.api.Test;

class BulkLoadTest extends WithStore {
    private static final int STATEMENTS = 200_000;

    private final AtomicInteger failures = new AtomicInteger();
    private final BulkLoad.Listener failing = (stage, read, total, statements) -> {
        failures.incrementAndGet();
        throw new IllegalStateException("a planted failure of a listener");
    };

    private Path write(String name, int statements) throws Exception {
        Path file = directory.resolve(name);
        try (BufferedWriter out = Files.newBufferedWriter(file)) {
            for (int number = 0; number < statements; number++) {
                out.write("<http://example.org/" + number % 5000 + "> <http://example.org/p> \"" + number + "\" .\n");
            }
        }
        return file;
    }

    private static void sleep(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    private long size() {
        try (RepositoryConnection connection = repository.getConnection()) {
            return connection.size();
        }
    }

    @Test
    void filesAreLoadedIntoTheirGraphs() throws Exception {
        IRI graph = Values.iri("http://example.org/graph");
        Path file = write("data.nt", STATEMENTS);
        AtomicLong progress = new AtomicLong();
        Thread loading = Thread.currentThread();
        BulkLoad.Report report = store.bulkLoad()
                .file(file)
                .listener((stage, read, total, statements) -> {
                    progress.set(statements);
                    if (Thread.currentThread() != loading) {
                        // The load ends meanwhile.
                        sleep(300);
                    }
                })
                .run();
        assertEquals(STATEMENTS, progress.get());
        assertEquals(STATEMENTS, report.read());
        assertEquals(STATEMENTS, report.inserted(), report::toString);
        assertEquals(0, store.bulkLoad().file(file).listener(failing).run().inserted());
        assertEquals(1, failures.get());
        store.bulkLoad().file(file).into(graph).run();
        try (RepositoryConnection connection = repository.getConnection()) {
            assertEquals(2 * STATEMENTS, connection.size());
            assertEquals(STATEMENTS, connection.size(graph));
            assertTrue(connection.hasStatement(
                    Values.iri("http://example.org/7"),
                    Values.iri("http://example.org/p"),
                    Values.literal("7"),
                    false,
                    graph));
        }
    }

    @Test
    void aWrongFileLoadsNothingUnlessTheLoadIsLenient() throws Exception {
        Path good = write("good.nt", 10);
        Path wrong = directory.resolve("wrong.nt");
        Files.writeString(wrong, "<http://a/s> <http://a/p> <http://a/o> .\nthis is wrong\n");
        BulkLoad load = store.bulkLoad().file(good).file(wrong);
        SailException error = assertThrows(SailException.class, load::run);
        assertTrue(error.getMessage().contains("wrong.nt") && error.getMessage().contains("2"), error::getMessage);
        assertEquals(0, size());
        BulkLoad.Report report = load.lenient().run();
        assertEquals(1, report.skipped());
        assertEquals(11, size());
        BulkLoad missing = store.bulkLoad().file(directory.resolve("missing.nt"));
        error = assertThrows(SailException.class, missing::run);
        assertTrue(error.getMessage().contains("missing.nt"), error::getMessage);
    }

    @Test
    void anInterruptCancelsTheLoad() throws Exception {
        Path file = write("large.nt", 3_000_000);
        Thread loading = Thread.currentThread();
        Thread interrupting = new Thread(() -> {
            try {
                Thread.sleep(200);
            } catch (InterruptedException unexpected) {
                return;
            }
            loading.interrupt();
        });
        interrupting.start();
        // The watcher goes on after an interrupt of its own.
        BulkLoad load = store.bulkLoad().file(file).listener((stage, read, total, statements) -> {
            Thread.currentThread().interrupt();
            failing.progress(stage, read, total, statements);
        });
        SailException error = assertThrows(SailException.class, load::run);
        assertTrue(error.getMessage().contains("cancelled"), error::getMessage);
        assertTrue(Thread.interrupted());
        interrupting.join();
        assertEquals(1, failures.get());
        assertEquals(0, size());
    }
}
