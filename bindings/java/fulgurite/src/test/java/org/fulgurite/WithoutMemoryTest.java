package org.fulgurite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A program whose own buffers use all direct memory that the virtual machine allows. */
class WithoutMemoryTest {
    /** More than loading the native library needs. */
    private static final int MEBIBYTES = 128;

    @TempDir
    Path directory;

    @Test
    void keysAndValuesGoAsArrays() throws IOException, InterruptedException {
        Path printed = directory.resolve("printed");
        Process process = new ProcessBuilder(
                        Paths.get(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:MaxDirectMemorySize=" + MEBIBYTES + "m",
                        "-cp",
                        System.getProperty("java.class.path"),
                        "-Dfulgurite.directory=" + System.getProperty("fulgurite.directory"),
                        Hungry.class.getName(),
                        directory.resolve("a.ful").toString())
                .redirectErrorStream(true)
                .redirectOutput(printed.toFile())
                .start();
        try {
            assertTrue(process.waitFor(2, TimeUnit.MINUTES));
        } finally {
            process.destroyForcibly();
        }
        String text = new String(Files.readAllBytes(printed), StandardCharsets.UTF_8);
        assertEquals(0, process.exitValue(), text);
        assertTrue(text.contains("value value"), text);
    }

    /** Prints a value that it reads twice. */
    public static final class Hungry {
        private static byte[] bytes(String text) {
            return text.getBytes(StandardCharsets.UTF_8);
        }

        /** Uses all direct memory, and then a database by a thread that has not used it before. */
        public static void main(String[] arguments) throws InterruptedException {
            try (Database database = Database.create(Paths.get(arguments[0]))) {
                Table table = database.createTable("t");
                List<ByteBuffer> buffers = useAll();
                Thread thread = new Thread(() -> use(database, table));
                thread.start();
                thread.join();
                System.out.println(buffers.size() + " buffers");
            }
        }

        private static List<ByteBuffer> useAll() {
            List<ByteBuffer> buffers = new ArrayList<>();
            for (int size = MEBIBYTES << 20; size >= 4 << 10; size /= 32) {
                try {
                    while (true) {
                        buffers.add(ByteBuffer.allocateDirect(size));
                    }
                } catch (OutOfMemoryError used) {
                    // Smaller ones may fit.
                }
            }
            return buffers;
        }

        private static void use(Database database, Table table) {
            database.write(txn -> txn.put(table, bytes("key"), bytes("value")));
            String first = new String(database.get(table, bytes("key")), StandardCharsets.UTF_8);
            String again = new String(database.get(table, bytes("key")), StandardCharsets.UTF_8);
            System.out.println(first + " " + again);
        }
    }
}
