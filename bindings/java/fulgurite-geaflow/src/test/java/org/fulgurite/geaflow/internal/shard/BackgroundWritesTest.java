package org.fulgurite.geaflow.internal.shard;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.apache.geaflow.common.config.Configuration;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.fulgurite.KeyRange;
import org.fulgurite.ReadTransaction;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.exceptions.StorageFullException;
import org.fulgurite.geaflow.internal.shard.ChangeQueue.Added;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Shards whose changes are applied and committed by threads in the background. */
class BackgroundWritesTest {
    private static final List<String> TABLES = Collections.singletonList("t");

    @TempDir
    Path directory;

    private final Map<String, String> configuration = new HashMap<>();
    private final List<Shard> shards = new ArrayList<>();

    @BeforeEach
    void makeBuffersSmall() {
        buffers(10, 10_000);
    }

    @AfterEach
    void closeShards() {
        shards.forEach(Shard::close);
    }

    private void buffers(int changes, int number) {
        configuration.put("geaflow.state.write.buffer.size", Integer.toString(changes));
        configuration.put("geaflow.state.write.buffer.number", Integer.toString(number));
    }

    private Shard open(String name) {
        StoreSettings settings = new StoreSettings(new Configuration(configuration));
        return Shard.open(settings, directory.resolve(name), TABLES);
    }

    private Shard kept(String name) {
        Shard shard = open(name);
        shards.add(shard);
        return shard;
    }

    private static byte[] bytes(int number) {
        return ByteBuffer.allocate(Integer.BYTES).putInt(number).array();
    }

    /** Reads a shard in another thread until the latch is open. Returns when the read has the shard. */
    private static Thread reading(Shard shard, CountDownLatch latch) throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(1);
        Thread reader = new Thread(() -> shard.read(transaction -> {
            begun.countDown();
            try {
                return latch.await(1, TimeUnit.MINUTES);
            } catch (InterruptedException interrupted) {
                throw new IllegalStateException(interrupted);
            }
        }));
        reader.start();
        assertTrue(begun.await(1, TimeUnit.MINUTES));
        return reader;
    }

    @Test
    void aWriteWaitsForNoCallThatUsesTheShardAndIsReadAfterIt() throws InterruptedException {
        Shard shard = kept("shard");
        shard.put(0, bytes(0), bytes(0));
        CountDownLatch latch = new CountDownLatch(1);
        Thread reader = reading(shard, latch);
        try {
            for (int number = 0; number < 1_000; number++) {
                shard.put(0, bytes(number), bytes(number + 1));
            }
            for (int number = 0; number < 1_000; number += 2) {
                shard.delete(0, bytes(number));
            }
            assertTrue(shard.hasFullBuffer());
        } finally {
            latch.countDown();
        }
        for (int number = 0; number < 1_000; number++) {
            assertArrayEquals(number % 2 == 0 ? null : bytes(number + 1), shard.get(0, bytes(number)));
        }
        reader.join();
    }

    @Test
    void readsRangesDeletionsAndSnapshotsSeeTheChangesThatWait() {
        Shard shard = kept("shard");
        for (int round = 0; round < 50; round++) {
            for (int number = 0; number < 100; number++) {
                shard.put(0, bytes(number), bytes(round));
            }
            int expected = round;
            assertEquals(100, shard.<Integer>scan(0, KeyRange.all(), cursor -> {
                int count = 0;
                while (cursor.next()) {
                    assertArrayEquals(bytes(expected), cursor.value());
                    count++;
                }
                return count;
            }));
            shard.put(0, bytes(100), bytes(round));
            try (ReadTransaction snapshot = shard.snapshot()) {
                assertArrayEquals(bytes(round), snapshot.get(shard.table(0), bytes(100)));
            }
            shard.put(0, bytes(101), bytes(round));
            // A large value is put after all small ones, and before later ones.
            shard.put(0, bytes(101), new byte[100_000]);
            assertEquals(100_000, shard.get(0, bytes(101)).length);
            shard.put(0, bytes(101), bytes(round));
            assertArrayEquals(bytes(round), shard.get(0, bytes(101)));
            shard.deleteRange(0, KeyRange.all());
            assertNull(shard.get(0, bytes(101)));
            assertEquals(0, shard.countEntries());
        }
    }

    @Test
    void closingWithChangesThatWaitLosesNone() {
        for (int round = 0; round < 20; round++) {
            Shard shard = open("shard");
            for (int number = 0; number < 500; number++) {
                shard.put(0, bytes(1_000 * round + number), bytes(number));
            }
            shard.close();
            assertThrows(GeaflowRuntimeException.class, () -> shard.put(0, bytes(0), bytes(0)));
        }
        Shard reopened = kept("shard");
        assertEquals(20 * 500, reopened.countEntries());
        assertArrayEquals(bytes(499), reopened.get(0, bytes(19_499)));
    }

    @Test
    void threadsDoNotGrowWithShards() {
        for (int number = 0; number < 60; number++) {
            kept("shard " + number);
        }
        for (int round = 0; round < 200; round++) {
            for (Shard shard : shards) {
                shard.put(0, bytes(round), bytes(round));
            }
        }
        int threads = threads().size();
        assertTrue(threads >= 1 && threads <= BackgroundWrites.THREADS_MAX, threads + " threads");
        for (Shard shard : shards) {
            assertArrayEquals(bytes(199), shard.get(0, bytes(199)));
        }
    }

    private static List<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith(BackgroundWrites.THREAD_NAME))
                .collect(Collectors.toList());
    }

    @Test
    void threadsEndWhenNothingIsWrittenAndStartAgain() throws InterruptedException {
        Shard shard = kept("shard");
        for (int round = 0; round < 2; round++) {
            for (int number = 0; number < 100; number++) {
                shard.put(0, bytes(number), bytes(round));
            }
            List<Thread> started = threads();
            assertFalse(started.isEmpty());
            for (Thread thread : started) {
                thread.join(TimeUnit.MINUTES.toMillis(1));
                assertFalse(thread.isAlive(), thread.getName());
            }
            assertArrayEquals(bytes(round), shard.get(0, bytes(99)));
        }
    }

    @Test
    void whatWasWrittenBeforeTheQuotaRefusesAWriteIsReadAndIsInTheClosedFile() {
        configuration.put("geaflow.store.fulgurite.map.size", Integer.toString(1 << 20));
        // A commit for each 64 KiB, while this thread fills buffers.
        configuration.put("geaflow.store.fulgurite.memory.size", "65536");
        buffers(10, 1_000);
        Shard shard = open("shard");
        int written = 0;
        try {
            StorageFullException refused = null;
            while (refused == null && written < 1_000_000) {
                try {
                    shard.put(0, bytes(written), value(written));
                    written++;
                } catch (StorageFullException full) {
                    refused = full;
                }
            }
            assertTrue(refused != null, "a file of 1 MiB took " + written + " values of 100 bytes");
            assertTrue(refused.getMessage().contains("set geaflow.store.fulgurite.map.size"), refused.getMessage());
            assertFalse(shard.hasFailed());
            checkValues(shard, written);
            shard.flush();
        } finally {
            closeFull(shard);
        }
        configuration.put("geaflow.store.fulgurite.map.size", Integer.toString(1 << 30));
        Shard reopened = kept("shard");
        checkValues(reopened, written);
        assertEquals(written, reopened.countEntries());
    }

    private static byte[] value(int number) {
        return ByteBuffer.allocate(100).putInt(number).array();
    }

    private static void checkValues(Shard shard, int count) {
        for (int number = 0; number < count; number++) {
            assertArrayEquals(value(number), shard.get(0, bytes(number)), "value " + number);
        }
        assertNull(shard.get(0, bytes(count)), "the value that was refused");
    }

    private static void closeFull(Shard shard) {
        try {
            shard.close();
        } catch (StorageFullException noRoom) {
            // The file has no room for the last commits. They are in the log.
        }
    }

    @Test
    void aRefusedTransactionKeepsBufferedChangesAndClosingThenThrowsWithoutThem() throws IOException {
        Shard shard = open("shard");
        shard.put(0, bytes(0), bytes(0));
        closeFileAndBuffer(shard, 1);
        Path kept = hideFile();
        assertThrows(GeaflowRuntimeException.class, shard::flush);
        assertThrows(GeaflowRuntimeException.class, () -> shard.get(0, bytes(1)));
        showFile(kept);
        shard.flush();
        assertArrayEquals(bytes(1), shard.get(0, bytes(1)));
        closeFileAndBuffer(shard, 2);
        hideFile();
        assertThrows(GeaflowRuntimeException.class, shard::close);
        showFile(kept);
        Shard reopened = kept("shard");
        assertArrayEquals(bytes(1), reopened.get(0, bytes(1)));
        assertNull(reopened.get(0, bytes(2)));
    }

    /** Buffers a change without a transaction, as a write does while a commit runs, and has the file closed. */
    private static void closeFileAndBuffer(Shard shard, int number) {
        // The first call finds that the file was used.
        shard.closeIdleFile();
        assertTrue(shard.closeIdleFile());
        ShardEntry change = new ShardEntry(0, bytes(number), bytes(number));
        assertEquals(Added.BUFFERED, shard.queue.add(Collections.singletonList(change)));
    }

    /** Puts a directory in the place of the file, so that it cannot be opened. Returns where the file is. */
    private Path hideFile() throws IOException {
        Path file = directory.resolve("shard/state.ful");
        Path kept = Files.move(file, directory.resolve("kept.ful"));
        Files.createDirectory(file);
        return kept;
    }

    private void showFile(Path kept) throws IOException {
        Path file = directory.resolve("shard/state.ful");
        Files.delete(file);
        Files.move(kept, file);
    }

    @Test
    void aShardThatHasFailedTakesNoChangesAndOccupiesNoThread() throws IOException {
        configuration.put("geaflow.store.fulgurite.sync.mode", "SYNC");
        Shard shard = open("shard");
        try {
            shard.put(0, bytes(0), bytes(0));
            shard.flush();
            shard.put(0, bytes(0), bytes(1));
            Files.delete(directory.resolve("shard/state.ful"));
            assertThrows(GeaflowRuntimeException.class, shard::flush);
            // As a call adds them that had looked for a failure before there was one.
            for (int number = 0; number < 100; number++) {
                ShardEntry change = new ShardEntry(0, bytes(number), bytes(number));
                assertEquals(Added.SEALED, shard.queue.add(Collections.singletonList(change)));
            }
            assertFalse(shard.hasFullBuffer());
            assertFalse(shard.applyInBackground(), "a thread would look at it again");
        } finally {
            shard.abandon();
        }
    }

    @Test
    void aFailureInTheBackgroundIsThrownByTheNextCallsUntilTheShardIsGivenUp() throws Exception {
        Shard shard = openToFail("shard");
        try {
            loseChanges(shard, "shard");
            GeaflowRuntimeException thrown =
                    assertThrows(GeaflowRuntimeException.class, () -> shard.put(0, bytes(0), bytes(2)));
            assertTrue(thrown.getMessage().contains("recover a checkpoint"), thrown.getMessage());
            assertThrows(GeaflowRuntimeException.class, shard::flush);
            assertThrows(GeaflowRuntimeException.class, shard::snapshot);
            assertThrows(GeaflowRuntimeException.class, () -> shard.get(0, bytes(0)));
            assertThrows(GeaflowRuntimeException.class, () -> shard.deleteRange(0, KeyRange.all()));
        } finally {
            shard.abandon();
        }
    }

    @Test
    void closingThrowsAFailureInTheBackgroundThatNoCallHasThrown() throws Exception {
        Shard shard = openToFail("shard");
        loseChanges(shard, "shard");
        GeaflowRuntimeException thrown = assertThrows(GeaflowRuntimeException.class, shard::close);
        assertTrue(thrown.getMessage().contains("recover a checkpoint"), thrown.getMessage());
        assertFalse(shard.hasOpenFile());
        Shard known = openToFail("known");
        loseChanges(known, "known");
        assertThrows(GeaflowRuntimeException.class, known::flush);
        try {
            known.close();
        } catch (FulguriteException notInOrder) {
            // The file is not there, which is not the failure that was thrown before.
        }
        assertFalse(known.hasOpenFile());
    }

    /** Opens a shard with a commit for each 64 KiB, which needs the file. */
    private Shard openToFail(String name) {
        configuration.put("geaflow.store.fulgurite.sync.mode", "SYNC");
        configuration.put("geaflow.store.fulgurite.memory.size", "65536");
        return open(name);
    }

    /** Makes changes. After all calls have returned, a commit of them in the background fails. */
    private void loseChanges(Shard shard, String name) throws IOException, InterruptedException {
        shard.put(0, bytes(0), bytes(0));
        shard.flush();
        shard.put(0, bytes(0), bytes(1));
        CountDownLatch latch = new CountDownLatch(1);
        Thread reader = reading(shard, latch);
        try {
            Files.delete(directory.resolve(name).resolve("state.ful"));
            for (int number = 0; number < 2_000; number++) {
                shard.put(0, bytes(number), new byte[100]);
            }
        } finally {
            latch.countDown();
        }
        reader.join();
        await(shard::hasFailed, "no commit has failed");
    }

    private static void await(BooleanSupplier condition, String otherwise) {
        long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, otherwise);
            Thread.yield();
        }
    }

    @Test
    void aLargeTransactionIsCommittedInTheBackgroundAfterALongScan() {
        configuration.put("geaflow.store.fulgurite.memory.size", "65536");
        buffers(10_000, 3);
        Shard shard = kept("shard");
        shard.put(0, bytes(0), new byte[40_000]);
        // Not enough to fill a buffer. With the first value they are more than 64 KiB.
        bufferValues(shard, 250);
        int found = shard.<Integer>scan(0, KeyRange.all(), cursor -> {
            // A thread waits for the shard in vain. If it tries again, the scan lasts ten times as long as it waits.
            long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(100);
            while (shard.isRequested.get() && System.nanoTime() < end) {
                Thread.yield();
            }
            int count = 0;
            while (cursor.next()) {
                count++;
            }
            return count;
        });
        assertEquals(250, found);
        await(() -> !shard.queue.hasChanges(), "changes are not committed");
        assertFalse(shard.isCommitWanted());
    }

    @Test
    void manyBuffersAreCommittedInSeveralTransactions() {
        // A transaction of 256 KiB is committed at once.
        configuration.put("geaflow.store.fulgurite.memory.size", Integer.toString(1 << 20));
        Shard shard = kept("shard");
        long before = committed(shard);
        bufferValues(shard, 6_000);
        assertEquals(600, shard.queue.fullCount());
        long commits = committed(shard) - before;
        assertTrue(commits >= 3, commits + " commits of 1 MB");
        checkValues(shard, 6_000);
    }

    /** Buffers values without a request for a thread in the background. */
    private static void bufferValues(Shard shard, int count) {
        for (int number = 0; number < count; number++) {
            shard.queue.add(Collections.singletonList(new ShardEntry(0, bytes(number), value(number))));
        }
    }

    /** Commits all changes, and returns the number of the last commit. */
    private static long committed(Shard shard) {
        try (ReadTransaction snapshot = shard.snapshot()) {
            return snapshot.sequence();
        }
    }
}
