package org.fulgurite.geaflow;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.ServiceLoader;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.apache.geaflow.state.DataModel;
import org.apache.geaflow.store.IStoreBuilder;
import org.apache.geaflow.store.api.key.IKVStatefulStore;
import org.apache.geaflow.store.context.StoreContext;
import org.fulgurite.Database;
import org.fulgurite.exceptions.CorruptException;
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.geaflow.internal.shard.ShardDirectory;
import org.junit.jupiter.api.Test;

class LifeCycleTest extends WithJob {
    private static final int PAGE_BYTES = 16 << 10;
    private static final int CYCLES = Integer.getInteger("fulgurite.geaflow.cycles", 20);

    private static void refused(String message, Runnable call) {
        GeaflowRuntimeException thrown = assertThrows(GeaflowRuntimeException.class, call::run);
        assertTrue(thrown.getMessage().contains(message), thrown.getMessage());
    }

    @Test
    void buildersAreServicesAndRocksdbIsTheirNameByOption() {
        List<String> names = new ArrayList<>();
        ServiceLoader.load(IStoreBuilder.class).forEach(builder -> names.add(builder.getStoreDesc().name()));
        assertEquals(Arrays.asList("FULGURITE", "Custom", "FULGURITE"), names);
        System.setProperty("fulgurite.geaflow.rocksdb", "true");
        try {
            assertEquals("ROCKSDB", new RocksdbAliasStoreBuilder().getStoreDesc().name());
        } finally {
            System.clearProperty("fulgurite.geaflow.rocksdb");
        }
        FulguriteStoreBuilder builder = new FulguriteStoreBuilder();
        assertTrue(builder.getStoreDesc().isLocalStore());
        assertEquals(new HashSet<>(Arrays.asList(DataModel.values())), new HashSet<>(builder.supportedDataModel()));
    }

    @Test
    void theNewestCommittedCheckpointIsRecovered() throws IOException {
        IKVStatefulStore<String, String> store = values();
        assertEquals(-1, store.recoveryLatest());
        for (int id = 1; id < 10; id++) {
            store.put("hello", "world" + id);
            store.archive(id);
        }
        store.put("hello", "not archived");
        store.close();
        store.drop();
        assertFalse(Files.exists(local(0)));
        store = values();
        assertNull(store.get("hello"));
        assertEquals(9, store.recoveryLatest());
        assertEquals("world9", store.get("hello"));
        store.drop();
        store.close();
        Files.delete(remote(0).resolve("meta.9/_commit"));
        store.init(context(0));
        assertEquals(8, store.recoveryLatest());
        assertEquals("world8", store.get("hello"));
        // The same version again, or an older one, is ignored.
        store.put("hello", "changed");
        store.recovery(8);
        store.recovery(1);
        assertEquals("changed", store.get("hello"));
        store.archive(9);
        store.drop();
        store.init(context(0));
        store.recovery(9);
        assertEquals("changed", store.get("hello"));
    }

    @Test
    void aLogWithCommitsWhoseFileIsMissingIsKeptAndInitThrows() throws IOException {
        configuration.put("geaflow.store.fulgurite.sync.mode", "META_SYNC");
        IKVStatefulStore<String, String> store = values();
        store.put("a", "committed");
        store.flush();
        // As after the death of the process: the commit is in the log alone.
        Path killed = directory.resolve("killed");
        copyFiles(local(0), killed);
        store.drop();
        copyFiles(killed, local(0));
        Files.delete(local(0).resolve("state.ful"));
        List<String> before = names(local(0));
        assertTrue(before.stream().anyMatch(name -> name.startsWith("state.ful-log.")), before.toString());
        GeaflowRuntimeException thrown = assertThrows(GeaflowRuntimeException.class, () -> store.init(context(0)));
        assertEquals(ErrorKind.LOG_WITHOUT_DATABASE, ((FulguriteException) thrown.getCause()).kind());
        assertTrue(thrown.getMessage().startsWith("cannot open the store state, shard 0: "), thrown.getMessage());
        assertTrue(names(local(0)).containsAll(before), names(local(0)).toString());
        Files.copy(killed.resolve("state.ful"), local(0).resolve("state.ful"));
        store.init(context(0));
        assertEquals("committed", store.get("a"));
    }

    @Test
    void aDamagedLocalFileIsRefusedUntilItsDirectoryIsDeletedAndTheStateRecovered() throws IOException {
        IKVStatefulStore<String, String> store = values();
        store.put("a", "archived");
        store.archive(1);
        store.close();
        byte[] beginning = Arrays.copyOf(Files.readAllBytes(local(0).resolve("state.ful")), 100);
        for (byte[] damaged : new byte[][] {{}, "a text".getBytes(StandardCharsets.UTF_8), beginning}) {
            Files.write(local(0).resolve("state.ful"), damaged);
            refused(
                    "delete the directory " + local(0).toAbsolutePath() + ", and recover a checkpoint",
                    () -> store.init(context(0)));
            ShardDirectory.deleteAll(local(0));
            store.init(context(0));
            assertEquals(1, store.recoveryLatest());
            assertEquals("archived", store.get("a"));
            store.close();
        }
    }

    /**
     * Opening reads few pages, so damage of the others is found later, and reported by any of these calls. Then a
     * recovery of the checkpoint that was recovered last is not ignored.
     */
    @Test
    void damageThatIsFoundAfterInitNamesTheShardAndItsDirectoryUntilTheStateIsRecovered() throws IOException {
        configuration.put("geaflow.store.fulgurite.open.shards.max", "1");
        configuration.put("geaflow.state.write.async.enable", "false");
        IKVStatefulStore<String, String> store = values();
        store.put("key 500", "archived");
        store.archive(1);
        store.recovery(1);
        String value = new String(new char[500]).replace('\0', 'v');
        for (int number = 0; number < 1_000; number++) {
            store.put("key " + number, value);
        }
        store.flush();
        // Opening another shard closes the file of this one.
        cast(store(DataModel.KV)).init(context(1));
        int damaged = 0;
        try (RandomAccessFile file = new RandomAccessFile(local(0).resolve("state.ful").toFile(), "rw")) {
            byte[] leaf = new byte[PAGE_BYTES];
            for (long at = 2 * PAGE_BYTES; at < file.length(); at += PAGE_BYTES) {
                file.seek(at);
                file.readFully(leaf);
                int place = new String(leaf, StandardCharsets.ISO_8859_1).indexOf(value);
                if (place >= 0) {
                    file.seek(at + place);
                    file.write(new byte[64]);
                    damaged++;
                }
            }
        }
        assertTrue(damaged > 10, damaged + " pages have entries");
        String remedy = "delete the directory " + local(0).toAbsolutePath() + ", and recover a checkpoint";
        GeaflowRuntimeException read = assertThrows(GeaflowRuntimeException.class, () -> store.get("key 500"));
        assertTrue(read.getMessage().startsWith("the store state, shard 0: "), read.getMessage());
        assertTrue(read.getMessage().endsWith("; " + remedy), read.getMessage());
        assertInstanceOf(CorruptException.class, read.getCause());
        GeaflowRuntimeException archived = assertThrows(GeaflowRuntimeException.class, () -> store.archive(2));
        assertTrue(archived.getMessage().endsWith("; " + remedy), archived.getMessage());
        store.recovery(1);
        assertEquals("archived", store.get("key 500"));
    }

    @Test
    void aFileThatIsNoneOfAShardIsRefused() throws IOException {
        Path file = local(0).resolve("state.ful");
        Files.createDirectories(file);
        refused("delete the directory " + local(0).toAbsolutePath() + ", and recover", this::values);
        refused("cannot open the store state, shard 0: ", this::values);
        Files.delete(file);
        try (Database other = Database.create(file)) {
            other.createTable("fruit");
        }
        refused("is not the file of a shard: it has the tables [fruit]; ", this::values);
        try (Database other = Database.create(file)) {
            assertEquals(Collections.singletonList("fruit"), other.tableNames());
        }
    }

    /** Copies what is in a directory, but for locks. */
    private static void copyFiles(Path from, Path to) throws IOException {
        Files.createDirectories(to);
        for (String name : names(from)) {
            Files.copy(from.resolve(name), to.resolve(name));
        }
    }

    private static List<String> names(Path of) throws IOException {
        try (Stream<Path> found = Files.list(of)) {
            return found.map(file -> file.getFileName().toString())
                    .filter(name -> !name.endsWith("-lock"))
                    .sorted()
                    .collect(Collectors.toList());
        }
    }

    @Test
    void dropWritesNothingIntoTheFileThatItDeletes() throws IOException {
        IKVStatefulStore<String, String> store = values();
        store.put("a", "committed");
        store.flush();
        store.put("a", "not committed");
        // A second name of the file, under which it stays.
        Path kept = directory.resolve("kept");
        Files.createLink(kept, local(0).resolve("state.ful"));
        byte[] before = Files.readAllBytes(kept);
        store.drop();
        assertFalse(Files.exists(local(0)));
        assertArrayEquals(before, Files.readAllBytes(kept));
        // Closing the store in order would have written into it.
        store.init(context(0));
        store.put("a", "committed");
        store.flush();
        Files.delete(kept);
        Files.createLink(kept, local(0).resolve("state.ful"));
        before = Files.readAllBytes(kept);
        store.close();
        assertFalse(Arrays.equals(before, Files.readAllBytes(kept)));
    }

    @Test
    void aStoreIsDroppedWhateverItsFileLacks() throws IOException {
        IKVStatefulStore<String, String> store = values();
        for (int round = 0; round < 3; round++) {
            store.put("a", "committed");
            store.flush();
            store.put("a", "not committed");
            if (round == 1) {
                Files.delete(local(0).resolve("state.ful"));
            }
            store.drop();
            assertFalse(Files.exists(local(0)), "round " + round);
            store.drop();
            store.init(context(0));
            assertNull(store.get("a"), "round " + round);
        }
    }

    @Test
    void checkpointZeroIsRecoveredButIsNotTheLatest() {
        IKVStatefulStore<String, String> store = values();
        store.put("a", "zero");
        store.archive(0);
        store.drop();
        store.init(context(0));
        assertEquals(-1, store.recoveryLatest());
        store.recovery(0);
        assertEquals("zero", store.get("a"));
    }

    @Test
    void aClosedStoreIsAnErrorAndAnOpenFileIsKept() {
        IKVStatefulStore<String, String> fresh = cast(store(DataModel.KV));
        refused("not initialised", () -> fresh.get("a"));
        refused("not initialised", () -> fresh.recovery(1));
        refused("not initialised", fresh::recoveryLatest);
        fresh.close();
        fresh.drop();
        IKVStatefulStore<String, String> store = values();
        store.put("a", "kept");
        store.close();
        store.close();
        refused("is closed", () -> store.get("a"));
        refused("is closed", () -> store.archive(1));
        refused("is closed", store::flush);
        store.init(context(0));
        assertEquals("kept", store.get("a"));
        refused("has no committed checkpoint 7; it has []", () -> store.recovery(7));
        assertEquals("kept", store.get("a"), "a recovery that cannot be leaves the store as it is");
    }

    @SuppressWarnings("unchecked")
    private static IKVStatefulStore<String, String> cast(Object store) {
        return (IKVStatefulStore<String, String>) store;
    }

    @Test
    void onlyChangesAreSentAgainAndOldCheckpointsAreRemoved() throws IOException {
        // Manifests are not compressed: the first archive should be larger than many of them.
        configuration.put("geaflow.store.fulgurite.checkpoint.compression", "0");
        IKVStatefulStore<String, String> store = values();
        for (int number = 0; number < 20_000; number++) {
            store.put("key " + number, "value " + number);
        }
        store.archive(1);
        long whole = files.bytesSent;
        for (int cycle = 2; cycle <= CYCLES; cycle++) {
            store.put("key 7", "value of " + cycle);
            store.archive(cycle);
        }
        // Whole again after 64 small files of changes.
        assertTrue(files.bytesSent < (2 + CYCLES / 50) * whole, files.bytesSent + " bytes, and " + whole + " by the first");
        // Twice the five batches between checkpoints.
        long committed = files.listFileName(new org.apache.hadoop.fs.Path(remote(0).toString())).stream()
                .filter(name -> name.startsWith("meta."))
                .count();
        assertEquals(10, committed);
        store.drop();
        store.init(context(0));
        refused("no committed checkpoint " + (CYCLES - 10), () -> store.recovery(CYCLES - 10));
        store.recovery(CYCLES - 9);
        assertEquals("value of " + (CYCLES - 9), store.get("key 7"));
        store.recovery(CYCLES);
        assertEquals("value of " + CYCLES, store.get("key 7"));
        assertEquals("value 19999", store.get("key 19999"));
    }

    @Test
    void afterAFailedArchiveTheLastCommittedCheckpointIsThere() {
        IKVStatefulStore<String, String> store = values();
        store.put("a", "first");
        store.archive(1);
        store.put("a", "second");
        int failures = 0;
        while (true) {
            files.changesLeft = failures;
            try {
                store.archive(2);
                break;
            } catch (GeaflowRuntimeException failed) {
                assertTrue(failed.getMessage().contains("cannot archive checkpoint 2"), failed.getMessage());
                failures++;
            } finally {
                files.changesLeft = -1;
            }
            IKVStatefulStore<String, String> other = cast(store(DataModel.KV));
            configuration.put("geaflow.work.path", directory.resolve("other").toString());
            other.init(context(0));
            configuration.put("geaflow.work.path", directory.resolve("work").toString());
            long latest = other.recoveryLatest();
            assertEquals(latest == 1 ? "first" : "second", other.get("a"), "after " + failures);
            other.drop();
        }
        // An archive changes the storage at least three times: it copies the changes, the list of files and _commit. If
        // an attempt that failed has made _commit, the next attempt first removes it and its list.
        assertTrue(failures >= 3, failures + " failures");
        store.drop();
        store.init(context(0));
        assertEquals(2, store.recoveryLatest());
        assertEquals("second", store.get("a"));
    }

    @Test
    void afterAFailedCommitTheStoreIsRecovered() throws IOException {
        configuration.put("geaflow.store.fulgurite.sync.mode", "SYNC");
        IKVStatefulStore<String, String> store = values();
        store.put("a", "archived");
        store.archive(1);
        for (int round = 0; round < 2; round++) {
            store.put("a", "lost");
            Files.delete(local(0).resolve("state.ful"));
            refused("could not be committed and are lost; recover a checkpoint: ", store::flush);
            refused("recover a checkpoint", () -> store.get("a"));
            refused("recover a checkpoint", () -> store.put("a", "refused"));
            refused("recover a checkpoint", () -> store.archive(2));
            // The second time it is the checkpoint that was recovered before.
            assertEquals(1, store.recoveryLatest());
            assertEquals("archived", store.get("a"));
        }
    }

    @Test
    void aDroppedOrClosedStoreRecoversTheSameCheckpointAgain() {
        IKVStatefulStore<String, String> store = values();
        store.put("a", "first");
        store.archive(1);
        store.put("a", "second");
        store.archive(2);
        for (int round = 0; round < 2; round++) {
            store.recovery(2);
            assertEquals("second", store.get("a"));
            store.drop();
            store.recovery(1);
            assertEquals("first", store.get("a"));
            store.close();
        }
    }

    @Test
    void aCheckpointIsThereIfOnlyTheRemovalOfOldOnesFails() {
        configuration.put("geaflow.batch.number.per.checkpoint", "0");
        IKVStatefulStore<String, String> store = values();
        store.put("a", "first");
        store.archive(1);
        store.put("a", "second");
        // As many as the first, which had nothing to remove at its end.
        files.changesLeft = files.changes;
        store.archive(2);
        assertEquals(0, files.changesLeft);
        files.changesLeft = -1;
        assertTrue(Files.exists(remote(0).resolve("meta.1")));
        store.archive(3);
        assertFalse(Files.exists(remote(0).resolve("meta.1")));
    }

    @Test
    void copiesThatAreCutAreRepeated() {
        IKVStatefulStore<String, String> store = values();
        store.put("a", "first");
        files.cutCopies = 2;
        store.archive(1);
        store.drop();
        store.init(context(0));
        files.cutCopies = 2;
        store.recovery(1);
        assertEquals("first", store.get("a"));
        files.cutCopies = 3;
        refused("cannot archive checkpoint 2", () -> store.archive(2));
    }

    @Test
    void anotherShardGoesOnFromACheckpoint() {
        IKVStatefulStore<String, String> first = values();
        first.put("a", "of shard 0");
        first.archive(1);
        first.close();
        StoreContext context = context(0);
        IKVStatefulStore<String, String> store = cast(store(DataModel.KV));
        store.init(context);
        context.withShardId(3);
        store.recovery(1);
        assertTrue(Files.exists(local(3)));
        store.put("a", "of shard 3");
        store.archive(2);
        store.drop();
        assertFalse(Files.exists(local(3)));
        assertTrue(Files.exists(remote(3).resolve("meta.2/_commit")));
        assertFalse(Files.exists(remote(0).resolve("meta.2")));
        store.init(context);
        assertEquals(2, store.recoveryLatest());
        assertEquals("of shard 3", store.get("a"));
    }

    @Test
    void changesThatWaitAreInCheckpointsAndInClosedFilesAndNotInDroppedOnes() {
        for (String isAsynchronous : new String[] {"true", "false"}) {
            configuration.put("geaflow.state.write.async.enable", isAsynchronous);
            // Each change is a full buffer. If writes are asynchronous, there is always room for another; otherwise
            // there is one buffer, and each change but the first applies the one before.
            configuration.put("geaflow.state.write.buffer.size", "1");
            configuration.put("geaflow.state.write.buffer.number", "1000");
            IKVStatefulStore<String, String> store = values();
            putNumbers(store, 0, 500);
            store.archive(1);
            putNumbers(store, 500, 1_000);
            store.close();
            store.init(context(0));
            for (int number = 0; number < 1_000; number++) {
                assertEquals("value " + number, store.get("key " + number));
            }
            putNumbers(store, 1_000, 1_500);
            store.drop();
            store.recovery(1);
            assertEquals("value 499", store.get("key 499"));
            assertNull(store.get("key 500"));
            assertNull(store.get("key 1499"));
            putNumbers(store, 500, 1_000);
            store.recovery(1);
            assertEquals("value 500", store.get("key 500"), "a recovery of what was recovered is ignored");
            store.remove("key 500");
            store.flush();
            assertNull(store.get("key 500"));
            store.drop();
        }
    }

    private static void putNumbers(IKVStatefulStore<String, String> store, int from, int to) {
        for (int number = from; number < to; number++) {
            store.put("key " + number, "value " + number);
        }
    }

    @Test
    void everyThreadReadsWhatWasWritten() throws InterruptedException, ExecutionException {
        everyThreadReads();
        configuration.put("geaflow.state.write.async.enable", "false");
        everyThreadReads();
    }

    private void everyThreadReads() throws InterruptedException, ExecutionException {
        int threads = 4;
        IKVStatefulStore<String, String> store = values();
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        List<Future<?>> results = new ArrayList<>();
        for (int thread = 0; thread < threads; thread++) {
            String name = "thread " + thread + " ";
            results.add(pool.submit(() -> {
                for (int number = 0; number < 5_000; number++) {
                    store.put(name + number, "value " + number);
                    assertEquals("value " + number / 2, store.get(name + number / 2));
                    if (number % 500 == 0) {
                        store.flush();
                    }
                }
            }));
        }
        for (Future<?> result : results) {
            result.get();
        }
        pool.shutdown();
        for (int thread = 0; thread < threads; thread++) {
            assertEquals("value 4999", store.get("thread " + thread + " 4999"));
        }
        store.drop();
    }

    @Test
    void shardsThatAreOpenTogetherShareMemory() {
        configuration.put("geaflow.store.fulgurite.memory.size", Long.toString(1 << 20));
        List<IKVStatefulStore<String, String>> stores = new ArrayList<>();
        for (int shard = 0; shard < 20; shard++) {
            IKVStatefulStore<String, String> store = cast(store(DataModel.KV));
            store.init(context(shard));
            stores.add(store);
        }
        for (int number = 0; number < 2_000; number++) {
            for (IKVStatefulStore<String, String> store : stores) {
                store.put("key " + number, "a value of some length, of number " + number);
            }
        }
        stores.forEach(IKVStatefulStore::flush);
        // What the limit wrote into the files: together they have all entries of 100 bytes but a part.
        long written = 0;
        for (int shard = 0; shard < stores.size(); shard++) {
            assertEquals("a value of some length, of number 1999", stores.get(shard).get("key 1999"));
            written += bytes(local(shard).resolve("state.ful"));
        }
        assertTrue(written > 2 << 20, written + " bytes were written");
    }
}
