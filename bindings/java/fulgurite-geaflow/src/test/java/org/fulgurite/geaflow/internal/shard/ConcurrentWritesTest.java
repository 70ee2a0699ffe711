package org.fulgurite.geaflow.internal.shard;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.geaflow.common.config.Configuration;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.fulgurite.Checkpoints;
import org.fulgurite.checkpoints.CheckpointStorage;
import org.fulgurite.checkpoints.DirectoryStorage;
import org.fulgurite.exceptions.StorageFullException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Threads that write to one shard while it is archived, closed, or reaches its quota. */
class ConcurrentWritesTest {
    private static final List<String> TABLES = Collections.singletonList("t");
    private static final int WRITERS = 4;

    /** A writer has fewer keys, so that none is of another. */
    private static final int NUMBERS_MAX = 1 << 24;

    @TempDir
    Path directory;

    private final Map<String, String> configuration = new HashMap<>();
    private final ExecutorService pool = Executors.newFixedThreadPool(WRITERS);
    private final List<Shard> shards = new ArrayList<>();

    @AfterEach
    void closeShards() {
        pool.shutdown();
        shards.forEach(Shard::close);
    }

    private Shard open(String name) {
        configuration.put("geaflow.state.write.buffer.size", "10");
        configuration.put("geaflow.state.write.buffer.number", "10");
        StoreSettings settings = new StoreSettings(new Configuration(configuration));
        return Shard.open(settings, directory.resolve(name), TABLES);
    }

    private Shard kept(String name) {
        Shard shard = open(name);
        shards.add(shard);
        return shard;
    }

    private static byte[] key(int writer, int number) {
        return ByteBuffer.allocate(Integer.BYTES).putInt(writer * NUMBERS_MAX + number).array();
    }

    /** Small, but now and then too large for a buffer. */
    private static byte[] value(int number) {
        return ByteBuffer.allocate(number % 500 == 499 ? 5_000 : 100).putInt(number).array();
    }

    /** Has all writers write. The latch counts those that have written a thousand values. */
    private List<Future<Integer>> writers(
            Shard shard, Class<? extends RuntimeException> refusal, CountDownLatch haveWritten) {
        List<Future<Integer>> counts = new ArrayList<>();
        for (int writer = 0; writer < WRITERS; writer++) {
            int of = writer;
            counts.add(pool.submit(() -> putUntilRefused(shard, of, refusal, haveWritten)));
        }
        return counts;
    }

    /** Returns how many calls have returned before one has thrown. */
    private static int putUntilRefused(
            Shard shard, int writer, Class<? extends RuntimeException> refusal, CountDownLatch haveWritten) {
        for (int number = 0; number < NUMBERS_MAX; number++) {
            try {
                shard.put(0, key(writer, number), value(number));
            } catch (RuntimeException refused) {
                if (refusal.isInstance(refused)) {
                    return number;
                }
                throw refused;
            }
            if (number == 1_000) {
                haveWritten.countDown();
            }
        }
        throw new AssertionError("no call of writer " + writer + " was refused");
    }

    /** Compares a shard with the values of the calls that returned. */
    private static void checkExactly(Shard shard, List<Future<Integer>> counts) throws Exception {
        long sum = 0;
        for (int writer = 0; writer < WRITERS; writer++) {
            int count = counts.get(writer).get();
            String message = "of " + count + " values of writer " + writer;
            for (int number = 0; number < count; number++) {
                assertArrayEquals(value(number), shard.get(0, key(writer, number)), message);
            }
            assertNull(shard.get(0, key(writer, count)), "the value that was refused");
            sum += count;
        }
        assertEquals(sum, shard.countEntries());
    }

    @Test
    void aShardThatIsClosedWhileThreadsWriteHasWhatReturnedAndNothingElse() throws Exception {
        for (int round = 0; round < 5; round++) {
            Shard shard = open("shard " + round);
            CountDownLatch haveWritten = new CountDownLatch(WRITERS);
            List<Future<Integer>> counts;
            try {
                counts = writers(shard, GeaflowRuntimeException.class, haveWritten);
                assertTrue(haveWritten.await(1, TimeUnit.MINUTES), "a writer has stopped");
            } finally {
                shard.close();
            }
            checkExactly(kept("shard " + round), counts);
        }
    }

    @Test
    void writersThatWaitForCommitsUntilTheQuotaRefusesThemReadWhatReturned() throws Exception {
        configuration.put("geaflow.store.fulgurite.map.size", Integer.toString(8 << 20));
        // A commit for each 64 KiB. While it runs, the other writers find that the buffers take nothing.
        configuration.put("geaflow.store.fulgurite.memory.size", "65536");
        Shard shard = open("shard");
        List<Future<Integer>> counts;
        try {
            counts = writers(shard, StorageFullException.class, new CountDownLatch(0));
            checkExactly(shard, counts);
            assertFalse(shard.hasFailed());
        } finally {
            try {
                shard.close();
            } catch (StorageFullException noRoom) {
                // The file has no room for the last commits. They are in the log.
            }
        }
        configuration.put("geaflow.store.fulgurite.map.size", Integer.toString(1 << 30));
        checkExactly(kept("shard"), counts);
    }

    @Test
    void writesAndReadsWaitForNoCheckpointAndTheNextOneSendsTheirChanges() throws Exception {
        Shard shard = kept("shard");
        shard.put(0, key(0, 0), value(0));
        shard.put(0, key(1, 0), new byte[100_000]);
        WaitingStorage storage = new WaitingStorage(new DirectoryStorage(directory.resolve("checkpoints")));
        try (Checkpoints checkpoints = new Checkpoints(storage)) {
            Future<Checkpoints.Report> report = pool.submit(() -> shard.createCheckpoint(checkpoints, 1));
            assertTrue(storage.isStoring.await(1, TimeUnit.MINUTES), "nothing is stored");
            assertFalse(shard.queue.hasChanges());
            for (int number = 0; number < 50; number++) {
                shard.put(0, key(0, number), value(number + 1));
                assertArrayEquals(value(number + 1), shard.get(0, key(0, number)));
            }
            shard.flush();
            assertFalse(report.isDone(), "the writes or reads have waited for the checkpoint");
            storage.mayStore.countDown();
            assertTrue(report.get().isWhole());
            assertFalse(shard.createCheckpoint(checkpoints, 2).isWhole());
            StoreSettings settings = new StoreSettings(new Configuration(configuration));
            Shard first = Shard.restore(settings, directory.resolve("first"), TABLES, checkpoints, 1);
            shards.add(first);
            assertArrayEquals(value(0), first.get(0, key(0, 0)));
            assertNull(first.get(0, key(0, 1)));
            Shard second = Shard.restore(settings, directory.resolve("second"), TABLES, checkpoints, 2);
            shards.add(second);
            for (int number = 0; number < 50; number++) {
                assertArrayEquals(value(number + 1), second.get(0, key(0, number)));
            }
        }
    }

    /** A storage that waits before it stores a file. */
    private static final class WaitingStorage implements CheckpointStorage {
        final CountDownLatch isStoring = new CountDownLatch(1);
        final CountDownLatch mayStore = new CountDownLatch(1);

        private final CheckpointStorage storage;

        WaitingStorage(CheckpointStorage storage) {
            this.storage = storage;
        }

        @Override
        public void store(String name, Path file) throws IOException {
            isStoring.countDown();
            try {
                if (!mayStore.await(1, TimeUnit.MINUTES)) {
                    throw new IOException("nothing may be stored yet");
                }
            } catch (InterruptedException interrupted) {
                throw new IOException(interrupted);
            }
            storage.store(name, file);
        }

        @Override
        public void fetch(String name, Path path) throws IOException {
            storage.fetch(name, path);
        }

        @Override
        public void remove(String name) throws IOException {
            storage.remove(name);
        }

        @Override
        public List<String> names() throws IOException {
            return storage.names();
        }
    }
}
