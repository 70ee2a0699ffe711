package org.fulgurite.geaflow.internal.shard;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.geaflow.common.config.Configuration;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.fulgurite.Checkpoints;
import org.fulgurite.Cursor;
import org.fulgurite.KeyRange;
import org.fulgurite.ReadTransaction;
import org.fulgurite.Transaction;
import org.fulgurite.checkpoints.DirectoryStorage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** More shards than may have their files open. The system property {@code fulgurite.shards} sets how many are idle. */
class OpenFilesTest {
    private static final List<String> TABLES = Collections.singletonList("t");
    private static final int IDLE_SHARDS = Integer.getInteger("fulgurite.shards", 300);

    @TempDir
    Path directory;

    private final List<Shard> shards = new ArrayList<>();

    @AfterEach
    void closeShards() {
        shards.forEach(Shard::close);
    }

    private void open(int count, int openMax) {
        StoreSettings settings = new StoreSettings(new Configuration(Collections.singletonMap(
                "geaflow.store.fulgurite.open.shards.max", Integer.toString(openMax))));
        for (int number = 0; number < count; number++) {
            shards.add(Shard.open(settings, directory.resolve("shard " + shards.size()), TABLES));
        }
    }

    private long openShards() {
        return shards.stream().filter(Shard::hasOpenFile).count();
    }

    private static byte[] bytes(int number) {
        return ByteBuffer.allocate(Integer.BYTES).putInt(number).array();
    }

    /** Open files of this process; none where the system does not list them. */
    private static int descriptors() {
        String[] open = new File("/proc/self/fd").list();
        return open == null ? 0 : open.length;
    }

    /** Threads of the library; none where the system does not list them. */
    private static long threads() {
        File[] threads = new File("/proc/self/task").listFiles();
        return threads == null ? 0 : Arrays.stream(threads).filter(OpenFilesTest::isOfTheLibrary).count();
    }

    private static boolean isOfTheLibrary(File thread) {
        try {
            return Files.readAllLines(thread.toPath().resolve("comm")).contains("fulgurite");
        } catch (IOException hasEnded) {
            return false;
        }
    }

    /** How many shards have files that are mapped into memory; none where the system does not list them. */
    private long mappedShards() throws IOException {
        Path maps = Paths.get("/proc/self/maps");
        if (!Files.exists(maps)) {
            return 0;
        }
        String shard = directory.toRealPath().resolve("shard ").toString();
        return Files.readAllLines(maps).stream()
                .filter(line -> line.contains(shard))
                .map(line -> line.substring(line.indexOf(shard), line.lastIndexOf('/')))
                .distinct()
                .count();
    }

    @Test
    void idleShardsHaveNoFilesMapsOrThreads() throws IOException {
        int descriptorsBefore = descriptors();
        long threadsBefore = threads();
        for (int number = 0; number < IDLE_SHARDS; number++) {
            open(1, 8);
            shards.get(number).put(0, bytes(0), bytes(number));
        }
        assertTrue(openShards() <= 8, openShards() + " are open");
        assertTrue(mappedShards() <= 8, mappedShards() + " are mapped");
        assertTrue(threads() <= threadsBefore, threads() + " threads, and before " + threadsBefore);
        assertTrue(
                descriptors() <= descriptorsBefore + 8 * 4,
                descriptors() + " descriptors, and before " + descriptorsBefore);
        assertTrue(shards.stream().mapToLong(Shard::committedBytes).filter(bytes -> bytes > 0).count() <= 8);
        for (int number = 0; number < IDLE_SHARDS; number += 29) {
            assertArrayEquals(bytes(number), shards.get(number).get(0, bytes(0)));
        }
    }

    @Test
    void manyShardsShareFewFilesAndLoseNothing() {
        int before = descriptors();
        open(60, 8);
        assertTrue(openShards() <= 8, openShards() + " are open");
        for (int round = 0; round < 3; round++) {
            for (int number = 0; number < shards.size(); number++) {
                Shard shard = shards.get(number);
                byte[] expected = round == 0 ? null : bytes(number + round - 1);
                assertArrayEquals(expected, shard.get(0, bytes(0)));
                shard.put(0, bytes(0), bytes(number + round));
                if (round == 1) {
                    shard.flush();
                }
                assertTrue(openShards() <= 8, openShards() + " are open");
            }
        }
        assertTrue(descriptors() <= before + 8 * 4, descriptors() + " descriptors, and before " + before);
        assertTrue(shards.stream().mapToLong(Shard::committedBytes).filter(bytes -> bytes > 0).count() <= 8);
    }

    @Test
    void aFileWithAnOpenSnapshotIsNotClosed() {
        open(8, 2);
        Shard first = shards.get(0);
        first.put(0, bytes(1), bytes(2));
        try (ReadTransaction snapshot = first.snapshot();
                Cursor cursor = snapshot.scan(first.table(0), KeyRange.all())) {
            shards.forEach(shard -> assertNull(shard.get(0, bytes(7))));
            shards.forEach(shard -> assertNull(shard.get(0, bytes(7))));
            assertTrue(first.hasOpenFile());
            first.put(0, bytes(1), bytes(3));
            assertTrue(cursor.next());
            assertArrayEquals(bytes(2), cursor.value());
        }
        shards.subList(1, 8).forEach(shard -> shard.get(0, bytes(7)));
        shards.subList(1, 8).forEach(shard -> shard.get(0, bytes(7)));
        assertFalse(first.hasOpenFile());
        assertArrayEquals(bytes(3), first.get(0, bytes(1)));
    }

    /** A recovery of the same checkpoint was ignored after this. */
    @Test
    void aShardWhoseFileIsFoundDamagedWhenItIsOpenedAgainHasFailed() throws IOException {
        open(1, 8);
        Shard shard = shards.get(0);
        // The first call finds that the file was used.
        shard.closeIdleFile();
        assertTrue(shard.closeIdleFile());
        assertFalse(shard.hasFailed());
        Files.write(directory.resolve("shard 0").resolve(Shard.FILE), "a text".getBytes(StandardCharsets.UTF_8));
        assertThrows(GeaflowRuntimeException.class, () -> shard.get(0, bytes(1)));
        assertTrue(shard.hasFailed());
    }

    @Test
    void aReadOfChangesGoesOnAfterItHasOpenedTheFileOfAnotherShard() {
        open(2, 1);
        Shard shard = shards.get(0);
        shard.put(0, bytes(1), bytes(2));
        byte[] found = shard.read(transaction -> {
            assertNull(shards.get(1).get(0, bytes(7)));
            assertTrue(shard.hasOpenFile());
            return transaction.get(shard.table(0), bytes(1));
        });
        assertArrayEquals(bytes(2), found);
    }

    @Test
    void aCheckpointOfAShardWhoseFileWasClosedHasItsChanges() {
        open(4, 1);
        Shard shard = shards.get(0);
        try (Checkpoints checkpoints = new Checkpoints(new DirectoryStorage(directory.resolve("checkpoints")))) {
            for (int number = 0; number < 20_000; number++) {
                shard.put(0, bytes(number), new byte[50]);
            }
            long whole = shard.createCheckpoint(checkpoints, 1).bytesSent();
            shard.put(0, bytes(5), bytes(6));
            shards.subList(1, 4).forEach(other -> other.get(0, bytes(7)));
            shards.subList(1, 4).forEach(other -> other.get(0, bytes(7)));
            assertFalse(shard.hasOpenFile());
            long changes = shard.createCheckpoint(checkpoints, 2).bytesSent();
            assertTrue(changes * 10 < whole, changes + " bytes of " + whole);
            StoreSettings settings = new StoreSettings(new Configuration(Collections.emptyMap()));
            Shard restored = Shard.restore(settings, directory.resolve("restored"), TABLES, checkpoints, 2);
            shards.add(restored);
            assertArrayEquals(bytes(6), restored.get(0, bytes(5)));
            assertEquals(20_000, restored.countEntries());
        }
    }

    @Test
    void threadsThatUseMoreShardsThanMayBeOpenReadWhatTheyWrote() throws Exception {
        open(6, 2);
        int threads = 4;
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        List<Future<Void>> results = new ArrayList<>();
        for (int thread = 0; thread < threads; thread++) {
            results.add(pool.submit(uses(thread)));
        }
        pool.shutdown();
        for (Future<Void> result : results) {
            result.get();
        }
    }

    /** Random changes and reads of keys that only this thread has. */
    private Callable<Void> uses(int thread) {
        Random random = new Random(20261128 + thread);
        List<Map<Integer, Integer>> models = new ArrayList<>();
        shards.forEach(shard -> models.add(new HashMap<>()));
        return () -> {
            for (int step = 0; step < 250; step++) {
                int number = random.nextInt(shards.size());
                Shard shard = shards.get(number);
                Map<Integer, Integer> model = models.get(number);
                int key = thread << 16 | random.nextInt(20);
                switch (random.nextInt(6)) {
                    case 0:
                        shard.delete(0, bytes(key));
                        model.remove(key);
                        break;
                    case 1:
                        shard.flush();
                        break;
                    case 2:
                        KeyRange range = KeyRange.prefix(new byte[] {0, (byte) thread});
                        assertEquals(model.size(), shard.<Integer>read(read -> count(read, shard, range)));
                        break;
                    case 3:
                        try (ReadTransaction snapshot = shard.snapshot()) {
                            byte[] found = snapshot.get(shard.table(0), bytes(key));
                            assertEquals(model.get(key), found == null ? null : ByteBuffer.wrap(found).getInt());
                        }
                        break;
                    default:
                        shard.put(0, bytes(key), bytes(step));
                        model.put(key, step);
                }
                byte[] found = shard.get(0, bytes(key));
                assertEquals(model.get(key), found == null ? null : ByteBuffer.wrap(found).getInt());
            }
            return null;
        };
    }

    private static int count(Transaction transaction, Shard shard, KeyRange range) {
        return (int) transaction.count(shard.table(0), range);
    }
}
