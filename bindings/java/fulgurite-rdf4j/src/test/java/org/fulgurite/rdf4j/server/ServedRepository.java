package org.fulgurite.rdf4j.server;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.eclipse.rdf4j.repository.http.HTTPRepository;

/**
 * Repositories of {@code fulgurite rdf serve}. Each has a process of its own. The system property
 * {@code fulgurite.program} names the program.
 */
public final class ServedRepository {
    private static final Pattern URL = Pattern.compile("the repository (http://\\S+)");
    /** Tests shut a repository down and use it again, so that its process must run on. */
    private static final int PROCESSES = 4;

    private static final Deque<ServedRepository> RUNNING = new ArrayDeque<>();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> RUNNING.forEach(ServedRepository::stop)));
    }

    private final Path directory;
    private final Process process;
    private final String url;

    private ServedRepository(List<String> options) throws IOException {
        directory = Files.createTempDirectory("served");
        String file = directory.resolve("served.ful").toString();
        List<String> command = new ArrayList<>(
                List.of(program(), "rdf", "serve", file, "--create", "--read-write", "--bind", "127.0.0.1:0"));
        command.addAll(options);
        process = new ProcessBuilder(command).redirectErrorStream(true).start();
        url = readUrl();
    }

    /** Returns the path of the program. */
    public static String program() {
        String program = System.getProperty("fulgurite.program", "");
        if (program.isEmpty()) {
            throw new IllegalStateException("-Dfulgurite.program must name the program fulgurite; cargo xtask java does");
        }
        return program;
    }

    private String readUrl() throws IOException {
        BufferedReader output =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        StringBuilder said = new StringBuilder();
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            said.append(line).append('\n');
            Matcher matcher = URL.matcher(line);
            if (matcher.find()) {
                return matcher.group(1);
            }
        }
        throw new IOException("the server has ended: " + said);
    }

    /** Returns an empty repository, whose server has these further options. */
    public static HTTPRepository empty(String... options) {
        synchronized (RUNNING) {
            try {
                if (RUNNING.size() == PROCESSES) {
                    RUNNING.removeFirst().stop();
                }
                ServedRepository served = new ServedRepository(List.of(options));
                RUNNING.addLast(served);
                return new HTTPRepository(served.url);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private void stop() {
        process.destroyForcibly();
        process.onExit().join();
        for (File file : directory.toFile().listFiles()) {
            file.delete();
        }
        directory.toFile().delete();
    }
}
