package org.fulgurite.rdf4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The program of the guide compiles as it is printed there, and prints what the guide says. */
class QuickStartTest {
    private static String block(String guide, String language) {
        Matcher matcher = Pattern.compile("```" + language + "\n(.*?)```", Pattern.DOTALL).matcher(guide);
        assertTrue(matcher.find(), "the guide has no block of " + language);
        return matcher.group(1);
    }

    @Test
    void theProgramOfTheGuideRuns(@TempDir Path directory) throws IOException, InterruptedException {
        String guide = Files.readString(Path.of(System.getProperty("fulgurite.guide")));
        Path source = directory.resolve("People.java");
        Files.writeString(source, block(guide, "java"));
        String classPath = System.getProperty("java.class.path");
        int compiled = ToolProvider.getSystemJavaCompiler()
                .run(
                        null, null, null, "-proc:none", "-classpath", classPath, "-d", directory.toString(),
                        source.toString());
        assertEquals(0, compiled);
        Path output = directory.resolve("output");
        Process process = new ProcessBuilder(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Dfulgurite.directory=" + System.getProperty("fulgurite.directory"),
                        "-classpath",
                        classPath + File.pathSeparator + directory,
                        "People"))
                .directory(directory.toFile())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .redirectOutput(output.toFile())
                .start();
        assertTrue(process.waitFor(1, TimeUnit.MINUTES));
        // Another line is of the logger of the tests.
        String printed = String.join(
                "",
                Files.readAllLines(output).stream()
                        .filter(line -> !line.contains("DEBUG") && !line.contains("INFO"))
                        .map(line -> line + "\n")
                        .toArray(String[]::new));
        assertEquals(block(guide, "text"), printed);
        assertEquals(0, process.exitValue());
    }
}
