package org.fulgurite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.fulgurite.checkpoints.DirectoryStorage;
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.exceptions.FulguriteException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MergeFunctionsTest {
    private static final String NAME = "union of words";

    /** More than what a thread has for keys and values. */
    private static final int LARGE = 20_000;

    @TempDir
    Path directory;

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }

    /** The words of all, in order, each once; at most three. */
    private static byte[] union(byte[] key, byte[] value, List<byte[]> operands) {
        TreeSet<String> words = new TreeSet<>();
        if (value != null) {
            words.addAll(Arrays.asList(text(value).split(" ")));
        }
        operands.forEach(operand -> words.addAll(Arrays.asList(text(operand).split(" "))));
        if (words.size() > 3) {
            throw new IllegalStateException(text(key) + " has " + words.size() + " words");
        }
        return bytes(String.join(" ", words));
    }

    private Database open() {
        return Database.options()
                .create(true)
                .keepLog(1 << 20)
                .mergeFunction(NAME, MergeFunctionsTest::union)
                .open(directory.resolve("a.ful"));
    }

    @Test
    void aFunctionMergesOperandsOfTransactionsAndIsReadBackWithin() {
        try (Database database = open()) {
            Table tags = database.openOrCreateTable("tags", new TableOptions().mergeFunction(NAME));
            database.write(txn -> {
                txn.merge(tags, bytes("photo"), bytes("sea"));
                assertEquals("sea", text(txn.get(tags, bytes("photo"))));
                txn.merge(tags, bytes("photo"), bytes("island sea"));
                assertEquals("island sea", text(txn.get(tags, bytes("photo"))));
            });
            // Two transactions that merge into one key do not conflict.
            try (WriteTransaction first = database.beginWrite();
                    WriteTransaction second = database.beginWrite()) {
                first.merge(tags, bytes("photo"), bytes("boat"));
                second.merge(tags, bytes("photo"), bytes("sea"));
                first.commit();
                second.commit();
            }
            assertEquals("boat island sea", text(database.get(tags, bytes("photo"))));
        }
    }

    @Test
    void anExceptionOfTheFunctionFailsTheCommitAndChangesNothing() {
        try (Database database = open()) {
            Table tags = database.openOrCreateTable("tags", new TableOptions().mergeFunction(NAME));
            database.write(txn -> txn.put(tags, bytes("photo"), bytes("a b c")));
            FulguriteException failed = assertThrows(
                    FulguriteException.class,
                    () -> database.write(txn -> txn.merge(tags, bytes("photo"), bytes("d"))));
            assertEquals(ErrorKind.UNMERGEABLE, failed.kind());
            assertTrue(failed.getMessage().contains("photo has 4 words"), failed.getMessage());
            assertEquals("a b c", text(database.get(tags, bytes("photo"))));
        }
    }

    @Test
    void withoutTheFunctionMergesAreRefusedAndTheRestWorks() {
        try (Database database = open()) {
            Table tags = database.openOrCreateTable("tags", new TableOptions().mergeFunction(NAME));
            database.write(txn -> txn.merge(tags, bytes("photo"), bytes("sea")));
        }
        try (Database database = Database.open(directory.resolve("a.ful"))) {
            Table tags = database.openTable("tags");
            assertEquals("sea", text(database.get(tags, bytes("photo"))));
            FulguriteException missing = assertThrows(
                    FulguriteException.class,
                    () -> database.write(txn -> txn.merge(tags, bytes("photo"), bytes("d"))));
            assertEquals(ErrorKind.MERGE_FUNCTION_MISSING, missing.kind());
        }
    }

    @Test
    void aFunctionThatReturnsNullFailsTheMerge() {
        DatabaseOptions options = Database.options().create(true).mergeFunction("none", (key, value, operands) -> null);
        try (Database database = options.open(directory.resolve("b.ful"))) {
            Table table = database.createTable("t", new TableOptions().mergeFunction("none"));
            FulguriteException failed = assertThrows(
                    FulguriteException.class, () -> database.write(txn -> txn.merge(table, bytes("k"), bytes("v"))));
            assertTrue(failed.getMessage().contains("returned null"), failed.getMessage());
        }
    }

    /** A function may read a database, whose calls use memory of the thread that the outer call uses too. */
    @Test
    void aFunctionThatReadsADatabaseDoesNotDisturbTheCallThatCalledIt() {
        List<Object> shared = new ArrayList<>();
        DatabaseOptions options = Database.options().create(true).mergeFunction("reading", (key, value, operands) -> {
            Database other = (Database) shared.get(0);
            byte[] read = other.get((Table) shared.get(1), bytes("another key"));
            return bytes(text(key) + "=" + text(operands.get(0)) + "+" + text(read));
        });
        try (Database other = Database.create(directory.resolve("other.ful"));
                Database database = options.open(directory.resolve("c.ful"))) {
            Table read = other.createTable("read");
            other.write(txn -> txn.put(read, bytes("another key"), bytes("read")));
            shared.add(other);
            shared.add(read);
            Table table = database.createTable("t", new TableOptions().mergeFunction("reading"));
            try (WriteTransaction txn = database.beginWrite()) {
                txn.merge(table, bytes("key"), bytes("operand"));
                assertEquals("key=operand+read", text(txn.get(table, bytes("key"))));
                txn.put(table, bytes("key"), bytes("before"));
                txn.merge(table, bytes("key"), bytes("operand"));
                assertEquals("key=operand+read", text(txn.get(table, bytes("key"))));
                txn.commit();
            }
            assertEquals("key=operand+read", text(database.get(table, bytes("key"))));
        }
    }

    /** What functions must not do, of the transaction that calls them and of its database. */
    @Test
    void aFunctionThatUsesItsTransactionOrClosesItsDatabaseIsRefused() {
        List<Runnable> misuses = new ArrayList<>();
        DatabaseOptions options = Database.options().create(true).mergeFunction("careless", (key, value, operands) -> {
            misuses.get(operands.get(0)[0]).run();
            return operands.get(0);
        });
        try (Database database = options.open(directory.resolve("e.ful"))) {
            Table table = database.createTable("t", new TableOptions().mergeFunction("careless"));
            WriteTransaction txn = database.beginWrite();
            misuses.add(() -> txn.get(table, bytes("other")));
            misuses.add(() -> txn.put(table, bytes("other"), bytes("value")));
            misuses.add(() -> txn.merge(table, bytes("other"), bytes("value")));
            misuses.add(txn::savepoint);
            misuses.add(() -> txn.commit());
            misuses.add(txn::close);
            misuses.add(database::close);
            misuses.add(() -> database.beginWrite());
            misuses.add(() -> database.createTable("u"));
            misuses.add(() -> database.checkpoint());
            misuses.add(() -> Database.open(directory.resolve("e.ful")));
            for (byte misuse = 0; misuse < misuses.size(); misuse++) {
                txn.merge(table, new byte[] {misuse}, new byte[] {misuse});
                byte[] key = {misuse};
                FulguriteException failed =
                        assertThrows(FulguriteException.class, () -> txn.get(table, key), "misuse " + misuse);
                assertEquals(ErrorKind.UNMERGEABLE, failed.kind());
                assertTrue(failed.getMessage().contains("a merge function"), failed.getMessage());
                txn.put(table, key, bytes("instead"));
            }
            txn.put(table, bytes("other"), bytes("still there"));
            txn.commit();
            assertEquals("still there", text(database.get(table, bytes("other"))));
        }
    }

    @Test
    void aFunctionThatThrowsFailsTheCallThatNeedsTheValueWithItsPlace() {
        DatabaseOptions options = Database.options().create(true).mergeFunction("throwing", (key, value, operands) -> {
            throw new NullPointerException();
        });
        try (Database database = options.open(directory.resolve("f.ful"))) {
            Table table = database.createTable("t", new TableOptions().mergeFunction("throwing"));
            try (WriteTransaction txn = database.beginWrite()) {
                txn.merge(table, bytes("k"), bytes("operand"));
                FulguriteException read = assertThrows(FulguriteException.class, () -> txn.get(table, bytes("k")));
                assertEquals(ErrorKind.UNMERGEABLE, read.kind());
                assertTrue(read.getMessage().contains("java.lang.NullPointerException, at "), read.getMessage());
                assertTrue(read.getMessage().contains("MergeFunctionsTest.java:"), read.getMessage());
                txn.put(table, bytes("p"), bytes("before"));
                FulguriteException merged =
                        assertThrows(FulguriteException.class, () -> txn.merge(table, bytes("p"), bytes("operand")));
                assertEquals(ErrorKind.UNMERGEABLE, merged.kind());
                assertEquals("before", text(txn.get(table, bytes("p"))));
            }
        }
    }

    @Test
    void aReadOfALargeValueCallsTheFunctionOnce() {
        AtomicInteger calls = new AtomicInteger();
        DatabaseOptions options = Database.options().create(true).mergeFunction("large", (key, value, operands) -> {
            calls.incrementAndGet();
            return new byte[LARGE];
        });
        try (Database database = options.open(directory.resolve("g.ful"))) {
            Table table = database.createTable("t", new TableOptions().mergeFunction("large"));
            try (WriteTransaction txn = database.beginWrite()) {
                txn.merge(table, bytes("k"), bytes("operand"));
                assertEquals(LARGE, txn.get(table, bytes("k")).length);
                assertEquals(1, calls.getAndSet(0));
                ByteBuffer into = ByteBuffer.allocate(LARGE + 1);
                assertEquals(LARGE, txn.get(table, ByteBuffer.wrap(bytes("k")), into));
                assertEquals(LARGE, into.position());
                assertEquals(1, calls.getAndSet(0));
                ByteBuffer small = ByteBuffer.allocate(LARGE - 1);
                assertEquals(LARGE, txn.get(table, ByteBuffer.wrap(bytes("k")), small));
                assertEquals(1, calls.get());
            }
        }
    }

    @Test
    void threadsMergeWithoutLosingAnything() throws InterruptedException {
        DatabaseOptions options = Database.options().create(true).mergeFunction("longer", (key, value, operands) -> {
            int length = (value == null ? 0 : value.length) + operands.size();
            return new byte[length];
        });
        int threads = 4;
        int merges = 200;
        try (Database database = options.open(directory.resolve("d.ful"))) {
            Table table = database.createTable("t", new TableOptions().mergeFunction("longer"));
            ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
            Thread[] running = new Thread[threads];
            for (int number = 0; number < threads; number++) {
                running[number] = new Thread(() -> {
                    try {
                        for (int turn = 0; turn < merges; turn++) {
                            database.write(txn -> txn.merge(table, bytes("k"), bytes("1")));
                        }
                    } catch (Throwable failure) {
                        failures.add(failure);
                    }
                });
                running[number].start();
            }
            for (Thread thread : running) {
                thread.join();
            }
            assertNull(failures.peek());
            assertArrayEquals(new byte[threads * merges], database.get(table, bytes("k")));
        }
    }

    @Test
    void aRestoredCheckpointHasTheFunctions() {
        try (Database database = open();
                Checkpoints checkpoints = new Checkpoints(new DirectoryStorage(directory.resolve("checkpoints")))) {
            Table tags = database.openOrCreateTable("tags", new TableOptions().mergeFunction(NAME));
            database.write(txn -> txn.merge(tags, bytes("photo"), bytes("sea")));
            checkpoints.create(database, 1);
            DatabaseOptions options = Database.options().keepLog(1 << 20).mergeFunction(NAME, MergeFunctionsTest::union);
            try (Database restored = checkpoints.restore(1, directory.resolve("restored.ful"), options)) {
                Table table = restored.openTable("tags");
                restored.write(txn -> txn.merge(table, bytes("photo"), bytes("boat")));
                assertEquals("boat sea", text(restored.get(table, bytes("photo"))));
            }
        }
    }
}
