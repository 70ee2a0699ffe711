package org.fulgurite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.fulgurite.exceptions.ClosedException;
import org.fulgurite.exceptions.CorruptException;
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.exceptions.RetryableException;
import org.fulgurite.exceptions.StorageFullException;
import org.fulgurite.internal.Handle;
import org.fulgurite.options.Durability;
import org.fulgurite.options.MergeOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

class DatabaseTest extends WithDatabase {
    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }

    private void put(String... keysAndValues) {
        database.write(txn -> {
            for (int index = 0; index < keysAndValues.length; index += 2) {
                txn.put(table, bytes(keysAndValues[index]), bytes(keysAndValues[index + 1]));
            }
        });
    }

    private String get(String key) {
        return database.read(txn -> text(txn.get(table, bytes(key))));
    }

    /** The keys of a scan, separated by spaces. */
    private String keys(Cursor cursor) {
        List<String> keys = new ArrayList<>();
        while (cursor.next()) {
            keys.add(text(cursor.key()));
        }
        return String.join(" ", keys);
    }

    @Test
    void valuesAreReadBack() {
        put("apple", "red", "", "empty key", "empty", "");
        assertEquals("red", get("apple"));
        assertEquals("empty key", get(""));
        assertEquals("", get("empty"));
        assertNull(get("pear"));
        try (WriteTransaction txn = database.beginWrite()) {
            assertFalse(txn.insert(table, bytes("apple"), bytes("green")));
            assertTrue(txn.insert(table, bytes("pear"), bytes("green")));
            assertTrue(txn.delete(table, bytes("apple")));
            assertFalse(txn.delete(table, bytes("apple")));
            assertFalse(txn.containsKey(table, bytes("apple")));
            assertTrue(txn.commit() > 0);
            assertFalse(txn.isOpen());
        }
        assertEquals("green", get("pear"));
    }

    @Test
    void valuesOfAllSizesSurviveReopening() {
        byte[][] values = new byte[5][];
        database.write(txn -> {
            for (int index = 0; index < values.length; index++) {
                values[index] = new byte[(int) Math.pow(30, index)];
                Arrays.fill(values[index], (byte) (index - 3));
                txn.put(table, new byte[] {(byte) index}, values[index]);
            }
        });
        database.close();
        database = Database.open(directory.resolve("a.ful"));
        table = database.openTable("t");
        try (ReadTransaction txn = database.beginRead();
                Cursor cursor = txn.scan(table, KeyRange.all())) {
            for (byte[] value : values) {
                assertTrue(cursor.next());
                assertArrayEquals(value, cursor.value());
            }
            assertFalse(cursor.next());
            assertArrayEquals(values[4], txn.get(table, new byte[] {4}));
        }
        CheckReport report = database.check();
        assertTrue(report.isSound());
        assertEquals(values.length, report.entries());
        String counts = "tables: " + report.tables() + ", entries: 5, pages: " + report.pages();
        assertEquals("sound (" + counts + ")", report.toString());
    }

    @Test
    void scansGoBothWaysAcrossBatchesAndSeek() {
        int count = 20_000;
        database.write(txn -> {
            WriteBatch batch = new WriteBatch();
            for (int number = 0; number < count; number++) {
                batch.put(key(number), ByteBuffer.allocate(8).putLong(number).array());
            }
            txn.apply(table, batch);
        });
        try (ReadTransaction txn = database.beginRead()) {
            try (Cursor up = txn.scan(table, KeyRange.all())) {
                for (int number = 0; number < count; number++) {
                    assertTrue(up.next());
                    assertEquals(number, up.keyBuffer().getInt());
                    assertEquals(number, up.valueBuffer().getLong());
                }
                assertFalse(up.next());
                assertFalse(up.next());
                assertThrows(IllegalStateException.class, up::key);
                up.seek(key(777));
                assertTrue(up.next());
                assertArrayEquals(key(777), up.key());
            }
            try (Cursor down = txn.scanReverse(table, KeyRange.between(key(5), key(9_000)))) {
                for (int number = 8_999; number >= 5; number--) {
                    assertTrue(down.next());
                    assertEquals(number, down.keyBuffer().getInt());
                }
                assertFalse(down.next());
                down.seek(key(100_000));
                assertTrue(down.next());
                assertEquals(8_999, down.keyBuffer().getInt());
                down.seek(key(4));
                assertFalse(down.next());
            }
            int seen = 0;
            for (Entry entry : txn.entries(table, KeyRange.atLeast(key(19_000)))) {
                assertArrayEquals(key(19_000 + seen++), entry.key());
            }
            assertEquals(1_000, seen);
            assertEquals(count, txn.count(table, KeyRange.all()));
            assertEquals(10, txn.count(table, KeyRange.between(key(10), key(20))));
            assertTrue(txn.estimateCount(table, KeyRange.all()) > 0);
            List<byte[]> wanted = Arrays.asList(key(3), key(count), key(1));
            List<byte[]> found = txn.getMany(table, wanted);
            assertEquals(3, ByteBuffer.wrap(found.get(0)).getLong());
            assertNull(found.get(1));
            assertEquals(1, ByteBuffer.wrap(found.get(2)).getLong());
            assertTrue(txn.getMany(table, new ArrayList<>()).isEmpty());
        }
    }

    private static byte[] key(int number) {
        return ByteBuffer.allocate(4).putInt(number).array();
    }

    @Test
    void rangesHaveTheirBounds() {
        put("a", "", "b", "", "ba", "", "bb", "", "c", "");
        try (ReadTransaction txn = database.beginRead()) {
            assertEquals("b ba bb", keys(txn.scan(table, KeyRange.prefix(bytes("b")))));
            assertEquals("bb ba b", keys(txn.scanReverse(table, KeyRange.prefix(bytes("b")))));
            assertEquals("ba bb c", keys(txn.scan(table, KeyRange.greaterThan(bytes("b")))));
            assertEquals("a b", keys(txn.scan(table, KeyRange.atMost(bytes("b")))));
            assertEquals("a", keys(txn.scan(table, KeyRange.lessThan(bytes("b")))));
            assertEquals("", keys(txn.scan(table, KeyRange.between(bytes("c"), bytes("a")))));
            assertEquals("", keys(txn.scan(table, KeyRange.prefix(new byte[] {-1, -1}))));
            assertEquals("a b ba bb c", keys(txn.scan(table, KeyRange.prefix(new byte[0]))));
        }
        assertEquals(3L, (long) database.update(txn -> txn.deleteRange(table, KeyRange.prefix(bytes("b")))));
        assertNull(get("ba"));
        assertNotNull(get("c"));
    }

    @Test
    void aSnapshotDoesNotChangeAndAWriterReadsItsOwnChanges() {
        put("k", "1");
        try (ReadTransaction before = database.beginRead();
                WriteTransaction txn = database.beginWrite()) {
            txn.put(table, bytes("k"), bytes("2"));
            assertEquals("2", text(txn.get(table, bytes("k"))));
            assertEquals("1", text(before.get(table, bytes("k"))));
            txn.commit(Durability.MEMORY);
            assertEquals("1", text(before.get(table, bytes("k"))));
            assertTrue(before.sequence() < database.stats().sequence());
        }
        database.sync();
        try (ReadTransaction durable = database.beginDurableRead()) {
            assertEquals("2", text(durable.get(table, bytes("k"))));
        }
    }

    @Test
    void savepointsUndoChanges() {
        try (WriteTransaction txn = database.beginWrite();
                WriteTransaction other = database.beginWrite()) {
            txn.put(table, bytes("a"), bytes("1"));
            WriteTransaction.Savepoint first = txn.savepoint();
            txn.put(table, bytes("b"), bytes("2"));
            WriteTransaction.Savepoint second = txn.savepoint();
            txn.put(table, bytes("c"), bytes("3"));
            txn.rollbackTo(second);
            assertTrue(txn.containsKey(table, bytes("b")));
            txn.rollbackTo(first);
            assertFalse(txn.containsKey(table, bytes("b")));
            assertEquals(ErrorKind.INVALID, kindOf(() -> txn.rollbackTo(second)));
            assertEquals(ErrorKind.INVALID, kindOf(() -> other.rollbackTo(first)));
            txn.rollbackTo(first);
            txn.commit();
        }
        assertEquals("1", get("a"));
    }

    private static ErrorKind kindOf(Runnable run) {
        return assertThrows(FulguriteException.class, run::run).kind();
    }

    @Test
    void conflictsAreRetryableAndUpdateRetries() throws InterruptedException {
        put("k", "0");
        try (WriteTransaction one = database.beginWrite();
                WriteTransaction two = database.beginWrite()) {
            for (WriteTransaction txn : Arrays.asList(one, two)) {
                txn.get(table, bytes("k"));
                txn.put(table, bytes("k"), bytes("x"));
            }
            one.commit();
            RetryableException conflict = assertThrows(RetryableException.class, two::commit);
            assertEquals(ErrorKind.CONFLICT, conflict.kind());
            assertTrue(conflict.isRetryable());
        }
        put("k", "0");
        List<Thread> threads = new ArrayList<>();
        for (int index = 0; index < 8; index++) {
            Thread thread = new Thread(() -> {
                for (int turn = 0; turn < 100; turn++) {
                    database.write(txn -> {
                        int before = Integer.parseInt(text(txn.get(table, bytes("k"))));
                        txn.put(table, bytes("k"), bytes(String.valueOf(before + 1)));
                    });
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals("800", get("k"));
    }

    @Test
    void everyMergeOperatorMerges() {
        for (MergeOperator operator : MergeOperator.values()) {
            boolean isText = operator == MergeOperator.APPEND;
            byte[] six = isText ? bytes("6") : ByteBuffer.allocate(8).putLong(6).array();
            byte[] three = isText ? bytes("3") : ByteBuffer.allocate(8).putLong(3).array();
            Table merged = database.createTable(operator.name(), new TableOptions().merge(operator));
            database.write(txn -> txn.put(merged, bytes("k"), six));
            database.write(txn -> txn.apply(merged, new WriteBatch().merge(bytes("k"), three)));
            byte[] found = database.read(txn -> txn.get(merged, bytes("k")));
            if (isText) {
                assertEquals("63", text(found));
                continue;
            }
            long result = ByteBuffer.wrap(found).getLong();
            switch (operator) {
                case MAX:
                    assertEquals(6, result);
                    break;
                case MIN:
                    assertEquals(3, result);
                    break;
                case AND:
                    assertEquals(6 & 3, result);
                    break;
                case OR:
                    assertEquals(6 | 3, result);
                    break;
                case XOR:
                    assertEquals(6 ^ 3, result);
                    break;
                default:
                    assertEquals(9, result, operator.name());
            }
        }
        assertEquals(
                ErrorKind.INVALID,
                kindOf(() -> database.write(txn -> txn.merge(table, bytes("k"), bytes("v")))));
    }

    @Test
    void aBatchIsAppliedInItsOrderAllOrNothing() {
        put("a", "0");
        WriteBatch batch = new WriteBatch()
                .put(bytes("b"), bytes("1"))
                .put(bytes("a"), bytes("1"))
                .delete(bytes("b"))
                .put(bytes("c"), new byte[100_000]);
        assertEquals(4, batch.size());
        database.write(txn -> txn.apply(table, batch));
        assertEquals("1", get("a"));
        assertNull(get("b"));
        assertNotNull(get("c"));
        batch.clear();
        // The table has no merge operator, so that the second change fails.
        batch.put(bytes("d"), bytes("1")).merge(bytes("a"), bytes("1"));
        try (WriteTransaction txn = database.beginWrite()) {
            assertEquals(ErrorKind.INVALID, kindOf(() -> txn.apply(table, batch)));
            assertFalse(txn.containsKey(table, bytes("d")));
            txn.commit();
        }
        // A batch of puts needs no savepoint: the second value does not fit the operator.
        Table counts = database.createTable("counts", new TableOptions().merge(MergeOperator.ADD));
        WriteBatch puts = new WriteBatch().put(bytes("d"), new byte[8]).put(bytes("e"), new byte[3]);
        try (WriteTransaction txn = database.beginWrite()) {
            assertEquals(ErrorKind.INVALID, kindOf(() -> txn.apply(counts, puts)));
            assertFalse(txn.containsKey(counts, bytes("d")));
        }
    }

    @Test
    void tablesAreCreatedRenamedAndDropped() {
        database.openOrCreateTable("packed", new TableOptions().packed(true).counted(true));
        assertEquals(Arrays.asList("packed", "t"), database.tableNames());
        assertEquals(ErrorKind.TABLE_EXISTS, kindOf(() -> database.createTable("t")));
        assertEquals(ErrorKind.TABLE_MISMATCH, kindOf(() -> database.openOrCreateTable("packed")));
        assertEquals(ErrorKind.TABLE_NOT_FOUND, kindOf(() -> database.openTable("none")));
        put("k", "v");
        Table renamed = database.renameTable(table, "ü");
        assertEquals("ü", renamed.name());
        assertEquals("v", get("k"));
        database.dropTable(renamed);
        assertEquals(ErrorKind.TABLE_NOT_FOUND, kindOf(() -> get("k")));
        assertEquals(
                ErrorKind.INVALID, kindOf(() -> database.createTable("u", new TableOptions().valueAlign(3))));
    }

    @Test
    void backupsAndMaintenanceWork() {
        put("k", "v");
        Path copy = directory.resolve("copy.ful");
        database.backup(copy);
        assertEquals(ErrorKind.FILE_EXISTS, kindOf(() -> database.backup(copy)));
        try (Database copied = Database.open(copy)) {
            Table same = copied.openTable("t");
            assertEquals("v", copied.read(txn -> text(txn.get(same, bytes("k")))));
        }
        database.checkpoint();
        assertTrue(database.compact() >= 0);
        assertTrue(database.stats().fileBytes() > 0);
        assertEquals(1, database.stats().tables());
        assertTrue(database.stats().toString().contains("tables: 1"));
    }

    @Test
    void openingSaysWhatIsWrong() throws Exception {
        Path path = directory.resolve("b.ful");
        FulguriteException missing = assertThrows(FulguriteException.class, () -> Database.open(path));
        assertEquals(ErrorKind.DATABASE_NOT_FOUND, missing.kind());
        assertTrue(missing.getMessage().contains("b.ful"), missing.getMessage());
        Path elsewhere = directory.resolve("none").resolve("b.ful");
        assertEquals(ErrorKind.DIRECTORY_NOT_FOUND, kindOf(() -> Database.create(elsewhere)));
        Files.write(path, bytes("This is a text and no database.\n"));
        assertEquals(ErrorKind.NOT_A_DATABASE, kindOf(() -> Database.open(path)));

        Path damaged = directory.resolve("c.ful");
        try (Database other = Database.create(damaged)) {
            Table all = other.createTable("t");
            other.write(txn -> txn.put(all, new byte[1], new byte[1]));
        }
        byte[] content = Files.readAllBytes(damaged);
        Arrays.fill(content, 0, 16_384, (byte) 7);
        Files.write(damaged, content);
        FulguriteException refused = assertThrows(FulguriteException.class, () -> Database.open(damaged));
        assertTrue(
                refused instanceof CorruptException || refused.kind() == ErrorKind.NOT_A_DATABASE,
                refused.getMessage());

        Path small = directory.resolve("d.ful");
        DatabaseOptions options = Database.options().create(true).maxSizeBytes(1 << 20);
        try (Database limited = options.open(small)) {
            Table all = limited.createTable("t");
            assertThrows(
                    StorageFullException.class,
                    () -> limited.write(txn -> txn.put(all, new byte[1], new byte[4 << 20])));
        }
        DatabaseOptions readOnly = Database.options().readOnly(true);
        try (Database read = readOnly.open(small)) {
            assertEquals(ErrorKind.READ_ONLY, kindOf(read::beginWrite));
        }
        assertThrows(
                IllegalArgumentException.class, () -> Database.options().deltaBytes(-1));
        assertThrows(
                IllegalArgumentException.class, () -> Database.options().waitForLock(Duration.ofNanos(-1)));
        // More milliseconds than a number can have.
        Database.options().waitForLock(ChronoUnit.FOREVER.getDuration()).open(small).close();
        assertEquals(
                ErrorKind.INVALID,
                kindOf(() -> Database.options().create(true).pageSizeBytes(5).open(directory.resolve("e.ful"))));
    }

    @Test
    void closedObjectsThrow() {
        ReadTransaction read = database.beginRead();
        WriteTransaction write = database.beginWrite();
        Cursor cursor = read.scan(table, KeyRange.all());
        Table other = database.openTable("t");
        other.close();
        assertThrows(ClosedException.class, () -> read.get(other, bytes("k")));
        read.close();
        read.close();
        assertThrows(ClosedException.class, () -> read.get(table, bytes("k")));
        assertThrows(ClosedException.class, cursor::next);
        assertThrows(IllegalStateException.class, cursor::value);
        database.close();
        database.close();
        assertFalse(database.isOpen() || write.isOpen());
        assertThrows(ClosedException.class, () -> write.put(table, bytes("k"), bytes("v")));
        assertThrows(ClosedException.class, write::commit);
        assertThrows(ClosedException.class, database::beginRead);
    }

    @Test
    void aDiscardedDatabaseIsClosedWithoutChangingItsFiles() throws IOException {
        database.write(txn -> txn.put(table, bytes("k"), bytes("v")));
        WriteTransaction write = database.beginWrite();
        FileTime before = Files.getLastModifiedTime(directory.resolve("a.ful"));
        database.discard();
        database.discard();
        database.close();
        assertFalse(database.isOpen() || write.isOpen());
        assertThrows(ClosedException.class, database::beginRead);
        assertEquals(before, Files.getLastModifiedTime(directory.resolve("a.ful")));
        // Nothing else has it open.
        database = Database.open(directory.resolve("a.ful"));
        assertTrue(database.check().isSound());
    }

    @Test
    void aDatabaseThatIsOpenTwiceIsClosedByTheLastObject() {
        Database second = Database.options().create(true).open(directory.resolve("a.ful"));
        Table same = second.openTable("t");
        put("k", "v");
        database.close();
        assertEquals("v", second.read(txn -> text(txn.get(same, bytes("k")))));
        second.write(txn -> txn.put(same, bytes("k"), bytes("w")));
        second.close();
        assertFalse(Files.exists(directory.resolve("a.ful-lock")));
        database = Database.open(directory.resolve("a.ful"));
        table = database.openTable("t");
        assertEquals("w", get("k"));
    }

    @Test
    void nullIsRefused() {
        try (WriteTransaction txn = database.beginWrite()) {
            assertThrows(NullPointerException.class, () -> txn.put(null, bytes("k"), bytes("v")));
            List<Executable> calls = Arrays.asList(
                    () -> txn.get(table, null),
                    () -> txn.get(table, null, ByteBuffer.allocate(1)),
                    () -> txn.getMany(table, Collections.singletonList(null)),
                    () -> txn.put(table, null, bytes("v")),
                    () -> txn.delete(table, (ByteBuffer) null),
                    () -> new WriteBatch().delete(null),
                    () -> KeyRange.atLeast(null));
            for (Executable call : calls) {
                assertEquals("key", assertThrows(NullPointerException.class, call).getMessage());
            }
            Executable put = () -> txn.put(table, bytes("k"), null);
            assertEquals("value", assertThrows(NullPointerException.class, put).getMessage());
            txn.put(table, bytes("k"), bytes("v"));
            txn.commit();
        }
        assertThrows(NullPointerException.class, () -> database.createTable(null));
        assertThrows(NullPointerException.class, () -> Database.open(null));
        assertEquals("v", get("k"));
    }

    private static Object[] withoutDatabase(Path file) {
        Database database = Database.options().create(true).open(file);
        Table table = database.openOrCreateTable("t");
        database.write(transaction -> transaction.put(table, new byte[] {1}, new byte[] {2}));
        return new Object[] {table, database.beginRead()};
    }

    private static void collect() throws InterruptedException {
        for (int turn = 0; turn < 10; turn++) {
            System.gc();
            Thread.sleep(10);
        }
    }

    @Test
    void aTransactionKeepsItsDatabaseAndBothAreClosedWhenTheyAreCollected(@TempDir Path directory) throws Exception {
        Logger.getLogger("org.fulgurite").setLevel(Level.OFF);
        Path file = directory.resolve("kept.ful");
        Object[] kept = withoutDatabase(file);
        collect();
        assertArrayEquals(new byte[] {2}, ((Transaction) kept[1]).get((Table) kept[0], new byte[] {1}));
        kept = null;
        for (int turn = 0; turn < 20; turn++) {
            withoutDatabase(file);
            collect();
        }
        Logger.getLogger("org.fulgurite").setLevel(null);
        try (Database database = Database.open(file)) {
            assertTrue(database.check().isSound());
        }
    }

    @Test
    void aScanOfADatabaseHasItsOwnSnapshot() {
        put("a", "1", "b", "2");
        Cursor few = database.scan(table, KeyRange.prefix(bytes("a")));
        assertEquals("a", keys(few));
        assertFalse(few.next());
        assertThrows(UnsupportedOperationException.class, () -> few.seek(bytes("a")));
        for (int number = 0; number < 1_000; number++) {
            put("key " + (1_000 + number), "a value that is long enough for several batches");
        }
        try (Cursor many = database.scan(table, KeyRange.all())) {
            assertTrue(many.next());
            put("z", "later");
            database.write(txn -> txn.delete(table, bytes("b")));
            int rest = 0;
            for (; many.next(); rest++) {
                assertFalse("z".equals(text(many.key())));
            }
            assertEquals(1_001, rest);
        }
        long now = database.read(txn -> txn.count(table, KeyRange.all()));
        assertEquals(1_002, now);
        database.close();
        assertThrows(ClosedException.class, () -> database.scan(table, KeyRange.all()));
    }

    @Test
    void anAbandonedReadIsClosedWithoutAWarning() throws InterruptedException {
        List<String> warnings = Collections.synchronizedList(new ArrayList<>());
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord record) {
                warnings.add(record.getMessage());
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        Logger logger = Logger.getLogger("org.fulgurite");
        logger.addHandler(handler);
        try {
            Handle abandoned = database.beginAbandonableRead().handle;
            for (int turn = 0; turn < 100 && abandoned.isOpen(); turn++) {
                System.gc();
                Thread.sleep(100);
            }
            assertFalse(abandoned.isOpen());
            assertEquals(Collections.emptyList(), warnings);
        } finally {
            logger.removeHandler(handler);
        }
    }

    private static void invalid(Executable call) {
        FulguriteException thrown = assertThrows(FulguriteException.class, call);
        assertEquals(ErrorKind.INVALID, thrown.kind());
        assertTrue(thrown.getMessage().contains("a surrogate without its partner"), thrown.getMessage());
    }

    @Test
    void namesWithHalfOfASurrogatePairAreRefused() {
        String name = "a\ud800b";
        invalid(() -> database.createTable(name));
        invalid(() -> database.openOrCreateTable(name));
        invalid(() -> database.openTable("a\udc00b"));
        invalid(() -> database.renameTable(table, name));
        invalid(() -> new TableOptions().mergeFunction(name));
        invalid(() -> Database.options().mergeFunction(name, (key, value, operands) -> value));
        assertEquals("\ud83c\udf4e", database.createTable("\ud83c\udf4e").name());
    }

    @Test
    void aCursorEndsWithItsTransactionOrDatabaseWhichItsErrorNames() {
        put("a", "1", "b", "2", "c", "3");
        ReadTransaction txn = database.beginRead();
        Cursor ofTransaction = txn.scan(table, KeyRange.all());
        Cursor filling = txn.scan(table, KeyRange.all());
        Cursor ofDatabase = database.scan(table, KeyRange.all());
        assertTrue(ofTransaction.next() && filling.next() && ofDatabase.next());
        txn.close();
        for (Executable call : new Executable[] {ofTransaction::next, () -> filling.fill(ByteBuffer.allocate(100))}) {
            ClosedException closed = assertThrows(ClosedException.class, call);
            assertEquals("this read transaction is closed", closed.getMessage());
        }
        assertTrue(ofDatabase.next());
        database.close();
        assertEquals(
                "this database is closed", assertThrows(ClosedException.class, ofDatabase::next).getMessage());
        ofDatabase.close();
        assertFalse(ofDatabase.next());
    }

    @Test
    void aCheckpointIntervalBelowAMillisecondIsOneMillisecond() {
        int position = 14;
        assertEquals(1, Database.options().checkpointInterval(Duration.ofNanos(1)).values()[position]);
        assertEquals(0, Database.options().checkpointInterval(Duration.ZERO).values()[position]);
        assertEquals(2, Database.options().checkpointInterval(Duration.ofNanos(2_900_000)).values()[position]);
    }
}
