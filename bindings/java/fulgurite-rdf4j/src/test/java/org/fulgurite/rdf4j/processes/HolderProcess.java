package org.fulgurite.rdf4j.processes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.eclipse.rdf4j.model.vocabulary.RDF;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.repository.sail.SailRepositoryConnection;
import org.fulgurite.rdf4j.FulguriteStore;

/** Another virtual machine that has a store open for writing until it is ended. Then it adds a statement. */
final class HolderProcess implements AutoCloseable {
    private static final String OPEN = "open";

    private final Process process;

    private HolderProcess(Process process) {
        this.process = process;
    }

    /** Starts the virtual machine, and waits until it has the store open. */
    static HolderProcess start(Path directory) throws IOException {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        HolderProcess holder = new HolderProcess(new ProcessBuilder(
                        java,
                        "-Dfulgurite.directory=" + System.getProperty("fulgurite.directory"),
                        "-cp",
                        System.getProperty("java.class.path"),
                        HolderProcess.class.getName(),
                        directory.toString())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start());
        BufferedReader lines = new BufferedReader(
                new InputStreamReader(holder.process.getInputStream(), StandardCharsets.UTF_8));
        String line = lines.readLine();
        while (line != null && !line.equals(OPEN)) {
            line = lines.readLine();
        }
        assertEquals(OPEN, line);
        return holder;
    }

    long pid() {
        return process.pid();
    }

    /** Waits until it has added its statement and shut its store down. */
    void end() throws IOException, InterruptedException {
        process.getOutputStream().close();
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));
        assertEquals(0, process.exitValue());
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    public static void main(String[] arguments) throws IOException {
        SailRepository repository = new SailRepository(new FulguriteStore(Path.of(arguments[0]).toFile()));
        repository.init();
        System.out.println(OPEN);
        while (System.in.read() >= 0) {}
        try (SailRepositoryConnection connection = repository.getConnection()) {
            connection.add(RDF.NIL, RDF.VALUE, RDF.NIL);
        }
        repository.shutDown();
    }
}
