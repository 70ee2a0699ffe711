package fulgurite.states;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.geaflow.store.api.key.IKVStatefulStore;

/**
 * Shards that were written and archived through GeaFlow's interfaces and are not used any more: the memory, descriptors
 * and threads that they hold, and the threads that wake up meanwhile. Then all of them are used again. They are in a
 * virtual machine of their own, whose heap is resident from the beginning, so that the rest of its memory is that of
 * the library.
 */
final class IdleShards {
    static final String NAME = "idle_shards";
    static final String ABOUT = "what shards of 100 records hold while they are not used";
    static final String ACTIVE = "active_shards";
    static final String ACTIVE_ABOUT = "random reads and writes of the same shards, and what they hold then";

    private static final int RECORDS = 100;

    /** Shards that are opened and closed before the first measurement, so that all code has run. */
    private static final int WARM_UP_SHARDS = 50;

    private static final long WATCHED_MS = 2_000;

    /** Reads and writes of all shards together. As many run before, which do not count. */
    private static final int OPERATIONS = 100_000;

    private static final Path PROCESS = Path.of("/proc/self");

    private IdleShards() {}

    /** What shards hold. */
    static final class Figures {
        int shards;
        long memoryKib;
        long descriptors;

        /** Threads of the library. */
        long threads;

        /** Those that have woken up in the time in which they were watched. */
        long awake;

        /** After random reads and writes of all shards. */
        long activeKib;

        /** The processor time of one of these. */
        long activeNs;

        double memoryMib() {
            return memoryKib / 1024.0;
        }

        double activeMib() {
            return activeKib / 1024.0;
        }
    }

    /** Measures so many shards below a directory. Needs Linux. */
    static Figures measure(Path parent, int shards) throws Exception {
        Path directory = Scratch.create(parent);
        try {
            Process process = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                            "-Xms256m",
                            "-Xmx256m",
                            "-XX:+AlwaysPreTouch",
                            "-XX:+UseSerialGC",
                            "-cp",
                            System.getProperty("java.class.path"),
                            IdleShards.class.getName(),
                            directory.toString(),
                            Integer.toString(shards))
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (process.waitFor() != 0) {
                throw new IllegalStateException(NAME + ": the virtual machine with the shards has failed: " + printed);
            }
            return figures(printed, shards);
        } finally {
            Scratch.delete(directory);
        }
    }

    /** Reads what the other virtual machine has printed in its last line. */
    private static Figures figures(String printed, int shards) {
        String[] lines = printed.trim().split("\n");
        String[] numbers = lines[lines.length - 1].trim().split(" ");
        Figures figures = new Figures();
        figures.shards = shards;
        figures.memoryKib = Long.parseLong(numbers[0]);
        figures.descriptors = Long.parseLong(numbers[1]);
        figures.threads = Long.parseLong(numbers[2]);
        figures.awake = Long.parseLong(numbers[3]);
        figures.activeKib = Long.parseLong(numbers[4]);
        figures.activeNs = Long.parseLong(numbers[5]);
        return figures;
    }

    /** Runs in the other virtual machine, with a directory and the number of shards. */
    public static void main(String[] arguments) throws Exception {
        FulguriteStates states = new FulguriteStates();
        Path directory = Path.of(arguments[0]);
        for (IKVStatefulStore<String, String> store : open(states, directory.resolve("warm-up"), WARM_UP_SHARDS)) {
            store.close();
        }
        long filesBefore = list(PROCESS.resolve("fd")).size();
        long before = memoryKib();
        List<IKVStatefulStore<String, String>> stores =
                open(states, directory.resolve("idle"), Integer.parseInt(arguments[1]));
        long memory = memoryKib() - before;
        long descriptors = list(PROCESS.resolve("fd")).size() - filesBefore;
        Map<Path, Long> asleep = wakes();
        Thread.sleep(WATCHED_MS);
        Map<Path, Long> after = wakes();
        long awake = after.entrySet().stream()
                .filter(thread -> !thread.getValue().equals(asleep.get(thread.getKey())))
                .count();
        for (IKVStatefulStore<String, String> store : stores) {
            String last = store.get("key " + (RECORDS - 1));
            if (!("value " + (RECORDS - 1)).equals(last)) {
                throw new IllegalStateException(NAME + ": a shard has " + last + " as its last record");
            }
        }
        use(stores);
        long activeNs = use(stores);
        long active = memoryKib() - before;
        for (IKVStatefulStore<String, String> store : stores) {
            store.close();
        }
        System.out.println(
                memory + " " + descriptors + " " + after.size() + " " + awake + " " + active + " " + activeNs);
    }

    /** Reads and writes random records of random shards. Returns the processor time of one operation. */
    private static long use(List<IKVStatefulStore<String, String>> stores) throws IOException {
        SplittableRandom random = new SplittableRandom(7);
        long begun = ProcessorTime.now();
        for (int operation = 0; operation < OPERATIONS; operation++) {
            IKVStatefulStore<String, String> store = stores.get(random.nextInt(stores.size()));
            String key = "key " + random.nextInt(RECORDS);
            if (operation % 2 == 0) {
                store.put(key, "value " + operation);
            } else if (store.get(key) == null) {
                throw new IllegalStateException(ACTIVE + ": a shard has lost " + key);
            }
        }
        return (ProcessorTime.now() - begun) / OPERATIONS;
    }

    private static List<IKVStatefulStore<String, String>> open(FulguriteStates states, Path directory, int shards)
            throws IOException {
        Files.createDirectories(directory);
        List<IKVStatefulStore<String, String>> stores = new ArrayList<>();
        for (int shard = 0; shard < shards; shard++) {
            IKVStatefulStore<String, String> store = states.shard(directory, shard);
            for (int record = 0; record < RECORDS; record++) {
                store.put("key " + record, "value " + record);
            }
            store.archive(1);
            stores.add(store);
        }
        return stores;
    }

    /** The used heap, and the memory outside of files, in which the whole heap is. */
    private static long memoryKib() throws IOException {
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        long heap = (runtime.totalMemory() - runtime.freeMemory()) >> 10;
        return heap + number(PROCESS.resolve("status"), "RssAnon:");
    }

    /** A number of a status of Linux. */
    private static long number(Path status, String name) throws IOException {
        for (String line : Files.readAllLines(status)) {
            if (line.startsWith(name)) {
                return Long.parseLong(line.replaceAll("[^0-9]", ""));
            }
        }
        throw new IOException(status + " has no " + name);
    }

    private static List<Path> list(Path directory) throws IOException {
        try (Stream<Path> found = Files.list(directory)) {
            return found.collect(Collectors.toList());
        }
    }

    /** How often each thread of the library has gone to sleep: the number of a sleeping thread does not change. */
    private static Map<Path, Long> wakes() throws IOException {
        Map<Path, Long> wakes = new HashMap<>();
        for (Path thread : list(PROCESS.resolve("task"))) {
            try {
                if (Files.readString(thread.resolve("comm")).startsWith("fulgurite")) {
                    wakes.put(thread, number(thread.resolve("status"), "voluntary_ctxt_switches:"));
                }
            } catch (IOException ended) {
                // The thread has ended since it was listed.
            }
        }
        return wakes;
    }
}
