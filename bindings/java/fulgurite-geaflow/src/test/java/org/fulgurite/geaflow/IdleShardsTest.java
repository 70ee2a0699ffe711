package org.fulgurite.geaflow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.geaflow.common.config.Configuration;
import org.apache.geaflow.file.PersistentIOBuilder;
import org.apache.geaflow.store.context.StoreContext;
import org.fulgurite.geaflow.internal.keys.KeyValueStore;
import org.fulgurite.geaflow.samples.LocalFiles;
import org.fulgurite.geaflow.samples.Texts;
import org.junit.jupiter.api.Test;

/**
 * Shards of a state in a virtual machine of their own, which were written and archived, and are not used any more: what
 * they hold. The system property {@code fulgurite.idle.shards} sets how many there are.
 */
class IdleShardsTest extends WithJob {
    private static final int SHARDS = Integer.getInteger("fulgurite.idle.shards", 150);

    /** For 1,000 shards. */
    private static final long MEMORY_MAX_KIB = 64 << 10;

    /** What compiled code and data of classes of the virtual machine may grow by meanwhile. */
    private static final long MACHINE_KIB = 16 << 10;

    private static final int DESCRIPTORS_OF_OPEN_FILE = 4;

    /** Shards that are opened and closed before the first measurement, so that all code has run. */
    private static final int WARM_UP_SHARDS = 20;

    private static final int OPEN_FILES = 32;
    private static final int RECORDS = 100;

    /** What the other virtual machine runs. Prints each figure as a line of a name and a number. */
    static final class Idle {
        private static final List<KeyValueStore<String, String>> STORES = new ArrayList<>();

        private Idle() {}

        public static void main(String[] arguments) throws Exception {
            Map<String, String> configuration = new HashMap<>();
            configuration.put("geaflow.job.runtime.name", JOB);
            configuration.put("geaflow.work.path", arguments[0]);
            configuration.put("geaflow.file.persistent.root", arguments[1]);
            configuration.put("geaflow.store.fulgurite.open.shards.max", Integer.toString(OPEN_FILES));
            PersistentIOBuilder.STORAGE.set(new LocalFiles());
            open(configuration, WARM_UP_SHARDS);
            STORES.forEach(KeyValueStore::close);
            STORES.clear();
            long memory = memoryKib();
            open(configuration, Integer.parseInt(arguments[2]));
            print("memory", memoryKib() - memory);
            print("descriptors", new File("/proc/self/fd").list().length);
            print("writers", awaitRest());
            print("records", STORES.stream()
                    .filter(store -> ("value " + (RECORDS - 1)).equals(store.get("key " + (RECORDS - 1))))
                    .count());
            STORES.forEach(KeyValueStore::close);
        }

        private static void print(String name, long number) {
            System.out.println(name + " " + number);
        }

        private static void open(Map<String, String> configuration, int count) {
            for (int opened = 0; opened < count; opened++) {
                KeyValueStore<String, String> store = new KeyValueStore<>();
                store.init(new StoreContext(STATE)
                        .withConfig(new Configuration(configuration))
                        .withShardId(STORES.size())
                        .withKeySerializer(new Texts()));
                for (int record = 0; record < RECORDS; record++) {
                    store.put("key " + record, "value " + record);
                }
                store.archive(1);
                STORES.add(store);
            }
        }

        /** The used heap, and the memory outside of the heap, which is resident as a whole from the beginning. */
        private static long memoryKib() throws IOException {
            System.gc();
            Runtime runtime = Runtime.getRuntime();
            long heap = (runtime.totalMemory() - runtime.freeMemory()) >> 10;
            String line = Files.readAllLines(Paths.get("/proc/self/status")).stream()
                    .filter(candidate -> candidate.startsWith("RssAnon:"))
                    .findFirst()
                    .orElseThrow(() -> new IOException("/proc/self/status has no RssAnon"));
            return heap + Long.parseLong(line.replaceAll("[^0-9]", ""));
        }

        /** Waits until no thread of the library runs, and returns how many threads of it there are. */
        private static long awaitRest() throws InterruptedException {
            long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
            while (ofLibrary().stream().anyMatch(thread -> thread.getState() == Thread.State.RUNNABLE)) {
                if (System.nanoTime() > deadline) {
                    throw new IllegalStateException("threads of the library do not rest: " + ofLibrary());
                }
                Thread.sleep(1);
            }
            return ofLibrary().size();
        }

        private static List<Thread> ofLibrary() {
            List<Thread> found = new ArrayList<>(Thread.getAllStackTraces().keySet());
            found.removeIf(thread -> !thread.getName().startsWith("fulgurite"));
            return found;
        }
    }

    private Map<String, Long> figures() throws Exception {
        Path printed = directory.resolve("printed");
        Process process = new ProcessBuilder(
                        Paths.get(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xms128m",
                        "-Xmx128m",
                        "-XX:+AlwaysPreTouch",
                        "-XX:+UseSerialGC",
                        "-cp",
                        System.getProperty("java.class.path"),
                        "-Dfulgurite.directory=" + System.getProperty("fulgurite.directory"),
                        Idle.class.getName(),
                        directory.resolve("work").toString(),
                        directory.resolve("root").toString(),
                        Integer.toString(SHARDS))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .redirectOutput(printed.toFile())
                .start();
        try {
            assertTrue(process.waitFor(10, TimeUnit.MINUTES), "the shards were not opened in time");
        } finally {
            process.destroyForcibly();
        }
        assertEquals(0, process.exitValue());
        Map<String, Long> figures = new HashMap<>();
        for (String line : Files.readAllLines(printed)) {
            String[] parts = line.split(" ");
            if (parts.length == 2 && parts[1].matches("-?[0-9]+")) {
                figures.put(parts[0], Long.parseLong(parts[1]));
            }
        }
        return figures;
    }

    @Test
    void idleShardsHoldLittleMemoryFewDescriptorsAndAtMostFiveThreadsThatRest() throws Exception {
        assumeTrue(Files.exists(Paths.get("/proc/self/status")), "/proc is needed to measure memory and descriptors");
        Map<String, Long> figures = figures();
        assertEquals((long) SHARDS, figures.get("records").longValue(), figures.toString());
        long memoryMax = MACHINE_KIB + MEMORY_MAX_KIB * SHARDS / 1_000;
        assertTrue(figures.get("memory") <= memoryMax, () -> figures + ", and the memory may be " + memoryMax + " KiB");
        // Files of the virtual machine, such as its jars, are among them.
        long descriptorsMax = DESCRIPTORS_OF_OPEN_FILE * OPEN_FILES + 128;
        assertTrue(figures.get("descriptors") <= descriptorsMax, figures::toString);
        // Four that write, and the one that closes objects which were garbage-collected.
        assertTrue(figures.get("writers") <= 5, figures::toString);
    }
}
