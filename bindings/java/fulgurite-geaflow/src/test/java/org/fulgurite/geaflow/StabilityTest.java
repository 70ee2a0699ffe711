package org.fulgurite.geaflow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.apache.geaflow.store.api.key.IKVStatefulStore;
import org.junit.jupiter.api.Test;

/**
 * The stability tests of the report on GeaFlow's LMDB store, at its sizes. The system property
 * {@code fulgurite.geaflow.stability} makes each so many times longer.
 */
class StabilityTest extends WithJob {
    private static final int TIMES = Integer.getInteger("fulgurite.geaflow.stability", 1);
    private static final long MEBIBYTE = 1 << 20;

    /** What 1,000 records of about 110 bytes may add to a file: twice as much as in the report's. */
    private static final long GROWTH_MAX = 448 << 10;

    private final Random random = new Random(20261128);

    private String text(int length) {
        char[] letters = new char[length];
        for (int at = 0; at < length; at++) {
            letters[at] = (char) ('a' + random.nextInt(26));
        }
        return new String(letters);
    }

    /** Open files of this process; none where the system does not list them. */
    private static int openFiles() {
        String[] open = new File("/proc/self/fd").list();
        return open == null ? 0 : open.length;
    }

    @Test
    void longRunsReadWhatWasWrittenAndKeepNothingOpen() {
        int iterations = 1_000 * TIMES;
        IKVStatefulStore<String, String> store = values();
        Map<String, String> model = new HashMap<>();
        int filesBefore = 0;
        for (int iteration = 0; iteration < iterations; iteration++) {
            for (int operation = 0; operation < 50; operation++) {
                String key = "key " + random.nextInt(10_000);
                String value = "value " + iteration + " " + operation;
                store.put(key, value);
                model.put(key, value);
                String other = "key " + random.nextInt(10_000);
                assertEquals(model.get(other), store.get(other));
            }
            if (iteration % 10 == 0) {
                store.flush();
            }
            if (iteration == iterations / 10) {
                filesBefore = openFiles();
            }
        }
        assertTrue(openFiles() <= filesBefore + 2, openFiles() + " open files, and before " + filesBefore);
    }

    @Test
    void everyCheckpointOfManyIsRecovered() {
        Map<String, String> model = new HashMap<>();
        IKVStatefulStore<String, String> store = values();
        for (int cycle = 1; cycle <= 20 * TIMES; cycle++) {
            for (int record = 0; record < 100; record++) {
                String key = "key " + random.nextInt(1_000);
                model.put(key, "value " + cycle + " " + record);
                store.put(key, model.get(key));
            }
            store.archive(cycle);
            store.put("key 0", "not archived");
            store.close();
            store.drop();
            store.init(context(0));
            assertEquals(cycle, store.recoveryLatest());
            IKVStatefulStore<String, String> recovered = store;
            model.forEach((key, value) -> assertEquals(value, recovered.get(key)));
            assertEquals(model.get("key 0"), store.get("key 0"));
        }
    }

    @Test
    void theFileGrowsAsItsRecordsAndNotByReplacingThem() {
        IKVStatefulStore<String, String> store = values();
        long[] sizes = new long[11];
        long id = 0;
        for (int batch = 1; batch <= 10; batch++) {
            for (int record = 0; record < 1_000; record++) {
                store.put("key " + batch + " " + record, text(100));
            }
            store.archive(++id);
            // Without this, all is in the log.
            store.compact();
            sizes[batch] = bytes(local(0).resolve("state.ful"));
            assertTrue(sizes[batch] <= sizes[batch - 1] + GROWTH_MAX, () -> "sizes: " + Arrays.toString(sizes));
        }
        // 10,000 records of about 110 bytes. The report's file has 1,164 KiB after half of them, and 2,236 KiB at the end.
        assertTrue(sizes[5] <= 1_164 << 10 && sizes[10] <= 2_236 << 10, () -> "sizes: " + Arrays.toString(sizes));
        assertTrue(sizes[10] > 10_000 * 100, () -> "the file does not have the records: " + Arrays.toString(sizes));
        for (int round = 0; round < 10 * TIMES; round++) {
            for (int record = 0; record < 1_000; record++) {
                store.put("key " + (1 + round % 10) + " " + record, text(100));
            }
            store.archive(++id);
        }
        store.compact();
        long replaced = bytes(local(0).resolve("state.ful"));
        assertTrue(replaced <= 3 * sizes[10], replaced + " bytes after replacing, and before " + sizes[10]);
    }

    @Test
    void memoryIsBoundedOverManyCycles() {
        configuration.put("geaflow.store.fulgurite.memory.size", Long.toString(MEBIBYTE));
        Gauges gauges = new Gauges();
        IKVStatefulStore<String, String> store = values();
        store.init(context(0).withMetricGroup(gauges));
        int cycles = 50 * TIMES;
        long heapBefore = 0;
        for (int cycle = 1; cycle <= cycles; cycle++) {
            for (int operation = 0; operation < 100; operation++) {
                String key = "key " + cycle % 50 + " " + operation;
                String value = text(500);
                store.put(key, value);
                assertEquals(value, store.get(key));
            }
            store.archive(cycle);
            long outside = gauges.of("memoryBytes") + gauges.of("snapshotBytes");
            assertTrue(outside <= 4 * MEBIBYTE, outside + " bytes in cycle " + cycle);
            if (cycle == cycles / 5) {
                heapBefore = usedHeap();
            }
        }
        long heap = usedHeap();
        assertTrue(heap < heapBefore + 8 * MEBIBYTE, heap + " bytes of heap, and before " + heapBefore);
    }

    private static long usedHeap() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    @Test
    void largeValuesAreArchivedAndRecovered() {
        Map<String, String> model = new HashMap<>();
        IKVStatefulStore<String, String> store = values();
        for (int bytes : new int[] {1 << 10, 10 << 10, 100 << 10, 4 << 20}) {
            for (int entry = 0; entry < 10; entry++) {
                String key = bytes + " " + entry;
                model.put(key, text(bytes / 64));
                StringBuilder value = new StringBuilder(bytes);
                while (value.length() < bytes) {
                    value.append(model.get(key));
                }
                model.put(key, value.toString());
                store.put(key, value.toString());
                assertEquals(value.toString(), store.get(key));
            }
        }
        store.archive(1);
        store.drop();
        store.init(context(0));
        assertEquals(1, store.recoveryLatest());
        IKVStatefulStore<String, String> recovered = store;
        model.forEach((key, value) -> assertEquals(value, recovered.get(key)));
    }
}
