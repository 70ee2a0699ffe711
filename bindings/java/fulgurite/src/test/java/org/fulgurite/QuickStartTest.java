package org.fulgurite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
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
        Path page = Paths.get(System.getProperty("fulgurite.guide"));
        String guide = new String(Files.readAllBytes(page), StandardCharsets.UTF_8);
        Path source = directory.resolve("Fruit.java");
        Files.write(source, block(guide, "java").getBytes(StandardCharsets.UTF_8));
        String classPath = classPathOf(Database.class);
        int compiled = ToolProvider.getSystemJavaCompiler()
                .run(null, null, null, "-classpath", classPath, "-d", directory.toString(), source.toString());
        assertEquals(0, compiled);

        Path java = Paths.get(System.getProperty("java.home"), "bin", "java");
        Path output = directory.resolve("output");
        // Java 24 and later warn there of native libraries.
        Path errors = directory.resolve("errors");
        Process process = new ProcessBuilder(Arrays.asList(
                        java.toString(),
                        "-Dfulgurite.directory=" + System.getProperty("fulgurite.directory"),
                        "-classpath",
                        classPath + System.getProperty("path.separator") + directory,
                        "Fruit"))
                .directory(directory.toFile())
                .redirectError(errors.toFile())
                .redirectOutput(output.toFile())
                .start();
        assertTrue(process.waitFor(1, TimeUnit.MINUTES));
        String printed = new String(Files.readAllBytes(output), StandardCharsets.UTF_8);
        String failure = new String(Files.readAllBytes(errors), StandardCharsets.UTF_8);
        assertEquals(0, process.exitValue(), failure);
        assertEquals(block(guide, "text"), printed, failure);
    }

    static String classPathOf(Class<?> type) {
        return Paths.get(location(type).getPath()).toString();
    }

    static URL location(Class<?> type) {
        return type.getProtectionDomain().getCodeSource().getLocation();
    }

    @Test
    void aSecondClassLoaderLoadsTheLibraryToo(@TempDir Path directory) throws Exception {
        Database.create(directory.resolve("first.ful")).close();
        try (URLClassLoader loader = new URLClassLoader(new URL[] {location(Database.class)}, null)) {
            Class<?> type = loader.loadClass("org.fulgurite.Database");
            assertTrue(type != Database.class);
            Object database = type.getMethod("create", Path.class).invoke(null, directory.resolve("second.ful"));
            assertEquals("[]", type.getMethod("tableNames").invoke(database).toString());
            type.getMethod("close").invoke(database);
        }
    }
}
