package org.fulgurite.rdf4j.server;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.eclipse.rdf4j.repository.RepositoryConnection;
import org.eclipse.rdf4j.repository.http.HTTPRepository;

/**
 * The repository of {@code fulgurite rdf serve}, which one process serves for all tests. The system property
 * {@code fulgurite.program} names the program.
 */
final class ServedRepository {
    private static final Pattern URL = Pattern.compile("the repository (http://\\S+)");
    private static String url;

    private ServedRepository() {}

    /** Returns the repository without statements and namespaces. */
    static HTTPRepository empty() {
        HTTPRepository repository = new HTTPRepository(url());
        try (RepositoryConnection connection = repository.getConnection()) {
            connection.clear();
            connection.clearNamespaces();
        }
        repository.shutDown();
        return new HTTPRepository(url());
    }

    /** Returns the URL of the repository. */
    static synchronized String url() {
        if (url == null) {
            try {
                url = start();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return url;
    }

    private static String start() throws IOException {
        String program = System.getProperty("fulgurite.program", "");
        if (program.isEmpty()) {
            throw new IllegalStateException("-Dfulgurite.program must name the program fulgurite; cargo xtask java does");
        }
        Path directory = Files.createTempDirectory("served");
        directory.toFile().deleteOnExit();
        Path file = directory.resolve("served.ful");
        Process server = new ProcessBuilder(
                        program, "rdf", "serve", file.toString(), "--create", "--read-write", "--bind", "127.0.0.1:0")
                .redirectErrorStream(true)
                .start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(server, directory)));
        BufferedReader output =
                new BufferedReader(new InputStreamReader(server.getInputStream(), StandardCharsets.UTF_8));
        StringBuilder said = new StringBuilder();
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            said.append(line).append('\n');
            Matcher matcher = URL.matcher(line);
            if (matcher.find()) {
                Thread reader = new Thread(() -> output.lines().forEach(System.err::println), "output of the server");
                reader.setDaemon(true);
                reader.start();
                return matcher.group(1);
            }
        }
        throw new IOException("the server has ended: " + said);
    }

    private static void stop(Process server, Path directory) {
        server.destroy();
        try {
            server.waitFor();
            for (java.io.File file : directory.toFile().listFiles()) {
                file.delete();
            }
        } catch (InterruptedException e) {
            server.destroyForcibly();
        }
    }
}
