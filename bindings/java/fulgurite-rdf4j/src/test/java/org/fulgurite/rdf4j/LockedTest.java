package org.fulgurite.rdf4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.eclipse.rdf4j.sail.SailLockedException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Another process has the store open, or this one under another name. */
class LockedTest {
    private static final String OPEN = "open";

    @TempDir
    Path directory;

    /** What the other virtual machine runs: keeps a store open until its input ends. */
    static final class Holder {
        public static void main(String[] arguments) throws IOException {
            FulguriteStore store = new FulguriteStore(Path.of(arguments[0]).toFile());
            store.init();
            System.out.println(OPEN);
            while (System.in.read() >= 0) {}
            store.shutDown();
        }
    }

    @Test
    void aStoreThatAnotherProcessHasOpenIsReportedAsLocked() throws Exception {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        Process holder = new ProcessBuilder(
                        java,
                        "-Dfulgurite.directory=" + System.getProperty("fulgurite.directory"),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Holder.class.getName(),
                        directory.toString())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(holder.getInputStream(), StandardCharsets.UTF_8))) {
            String line = lines.readLine();
            while (line != null && !line.equals(OPEN)) {
                line = lines.readLine();
            }
            assertEquals(OPEN, line);
            FulguriteStore store = new FulguriteStore(directory.toFile());
            SailLockedException locked = assertThrows(SailLockedException.class, store::init);
            assertTrue(locked.getMessage().contains("another process"), locked.getMessage());
            assertTrue(locked.getMessage().contains("; shut it down there, "), locked.getMessage());
            assertFalse(locked.getMessage().contains("read-only"), locked.getMessage());
            holder.getOutputStream().close();
            assertTrue(holder.waitFor(60, TimeUnit.SECONDS));
            store.init();
            store.shutDown();
        } finally {
            holder.destroyForcibly();
        }
    }

    @Test
    void aStoreThatThisProcessHasOpenUnderAnotherNameIsReportedWithTheRemedyOfTheEngine() throws IOException {
        Path first = directory.resolve("first");
        FulguriteStore store = new FulguriteStore(first.toFile());
        store.init();
        Path second = Files.createDirectory(directory.resolve("second"));
        Files.createLink(second.resolve(FulguriteStore.FILE_NAME), first.resolve(FulguriteStore.FILE_NAME));
        FulguriteStore other = new FulguriteStore(second.toFile());
        String message = assertThrows(SailLockedException.class, other::init).getMessage();
        assertTrue(message.contains("; use the database that is open, or "), message);
        assertFalse(message.contains("shut it down there"), message);
        store.shutDown();
    }
}
