package fulgurite.jmh;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * The reads of a benchmark without Java, on the same file and right after it: the program {@code
 * crates/java/examples/crossing.rs}. The difference is the cost of crossing between Java and the native library.
 */
final class Crossing {
    /** The system property that names the program. JMH passes it to the processes in which it measures. */
    static final String PROGRAM = "fulgurite.jmh.crossing";

    /** The engine of these figures. */
    static final String RUST = "rust";

    private static final List<String> READS = List.of("get", "scan");
    private static final int PASS_SECONDS = 2;

    private Crossing() {}

    /** A line for each measurement of this run: records, benchmark, nanoseconds of one record. */
    private static Path results() {
        return Engines.directory().resolve("crossing.txt");
    }

    /** Forgets what an earlier run has measured. */
    static void begin() throws IOException {
        Files.deleteIfExists(results());
    }

    /** Measures the reads of a benchmark on a closed database, if the program is there and has them. */
    static void measure(String benchmark, Path database, int records) throws IOException, InterruptedException {
        String program = System.getProperty(PROGRAM);
        if (program == null || !READS.contains(benchmark)) {
            return;
        }
        String[] command = {program, database.toString(), benchmark, String.valueOf(records), "" + PASS_SECONDS};
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
        int code = process.waitFor();
        if (code != 0) {
            throw new IOException(String.join(" ", command) + ": exit code " + code);
        }
        String line = records + " " + benchmark + " " + printed + "\n";
        Files.writeString(results(), line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    /** Adds what was measured to the figures. */
    static void addTo(Figures figures) throws IOException {
        if (!Files.exists(results())) {
            return;
        }
        for (String line : Files.readAllLines(results())) {
            String[] words = line.split(" ");
            figures.add(words[0], words[1], RUST, Double.parseDouble(words[2]));
        }
    }
}
