package org.fulgurite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.exceptions.FulguriteException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class BulkLoadTest extends WithDatabase {
    private static final int ENTRIES = 100_000;

    private static byte[] key(int number) {
        return ByteBuffer.allocate(4).putInt(number).array();
    }

    private static Entry entry(int number) {
        return Entry.of(key(number), ("value " + number).getBytes());
    }

    private static Iterator<Entry> entries(IntStream numbers) {
        return numbers.mapToObj(BulkLoadTest::entry).iterator();
    }

    private byte[] get(int number) {
        return database.read(transaction -> transaction.get(table, key(number)));
    }

    private long count() {
        return database.read(transaction -> transaction.count(table, KeyRange.all()));
    }

    @Test
    void sortedEntriesAreLoadedAndReplaceOthers() {
        database.write(transaction -> transaction.put(table, key(7), "old".getBytes()));
        Database.LoadSummary loaded = database.bulkLoad(table, entries(IntStream.range(0, ENTRIES)));
        assertEquals(ENTRIES - 1 + " inserted, 1 replaced", loaded.toString());
        assertEquals(ENTRIES, count());
        assertArrayEquals("value 7".getBytes(), get(7));
        assertArrayEquals(("value " + (ENTRIES - 1)).getBytes(), get(ENTRIES - 1));
        assertEquals(0, database.bulkLoad(table, Collections.emptyIterator()).inserted());
        assertTrue(database.check().isSound());
    }

    @Test
    void unsortedEntriesAreSortedAndTheLastOfAKeyCounts() {
        IntStream numbers = IntStream.range(0, ENTRIES).map(number -> ENTRIES - 1 - number);
        assertEquals(ENTRIES, database.bulkLoadUnsorted(table, entries(numbers)).inserted());
        Entry[] twice = {Entry.of(key(1), new byte[] {1}), entry(0), Entry.of(key(1), new byte[] {2})};
        assertEquals(2, database.bulkLoadUnsorted(table, Arrays.asList(twice).iterator()).replaced());
        assertArrayEquals(new byte[] {2}, get(1));
        assertEquals(ENTRIES, count());
    }

    @Test
    void entriesOfAnySizeAreLoaded() {
        byte[] large = new byte[3 << 20];
        Entry[] entries = {Entry.of(new byte[0], new byte[0]), Entry.of(key(1), large), entry(2), Entry.of(key(3), large)};
        assertEquals(4, database.bulkLoad(table, Arrays.asList(entries).iterator()).inserted());
        assertArrayEquals(large, get(3));
        assertArrayEquals("value 2".getBytes(), get(2));
    }

    /** Two entries; between them, {@code call} is called. */
    private static Iterator<Entry> entriesAround(Runnable call) {
        return IntStream.range(0, 2)
                .mapToObj(number -> {
                    if (number == 1) {
                        call.run();
                    }
                    return entry(number);
                })
                .iterator();
    }

    @Test
    void theIteratorOfASortedLoadMustNotWaitForTheLoad() {
        WriteTransaction begun = database.beginWrite();
        List<Executable> waiting = Arrays.asList(
                () -> database.write(transaction -> transaction.put(table, key(7), new byte[0])),
                () -> database.beginExclusive(Duration.ofDays(1)),
                () -> database.openOrCreateTable("other"),
                () -> database.dropTable(table),
                () -> database.bulkLoad(table, Collections.emptyIterator()),
                () -> database.bulkLoadUnsorted(table, Collections.emptyIterator()),
                begun::commit,
                database::checkpoint,
                database::compact,
                database::discard,
                database::close);
        Runnable calls = () -> {
            waiting.forEach(call -> assertThrows(IllegalStateException.class, call));
            // Reads do not wait, and neither does opening a table that exists.
            assertNull(database.get(database.openOrCreateTable("t"), key(7)));
        };
        assertEquals(2, database.bulkLoad(table, entriesAround(calls)).inserted());
        begun.commit();
        // Unsorted entries are read before the load begins.
        Runnable write = () -> database.write(transaction -> transaction.put(table, key(7), new byte[0]));
        assertEquals(2, database.bulkLoadUnsorted(table, entriesAround(write)).replaced());
        assertEquals(3, count());
    }

    @Test
    void anErrorLoadsNothing() {
        IllegalStateException planted = new IllegalStateException("planted");
        Iterator<Entry> failing = IntStream.range(0, ENTRIES)
                .mapToObj(number -> {
                    if (number == ENTRIES - 1) {
                        throw planted;
                    }
                    return entry(number);
                })
                .iterator();
        assertSame(planted, assertThrows(IllegalStateException.class, () -> database.bulkLoad(table, failing)));
        Entry[] descending = {entry(2), entry(1)};
        FulguriteException error = assertThrows(
                FulguriteException.class, () -> database.bulkLoad(table, Arrays.asList(descending).iterator()));
        assertEquals(ErrorKind.OUT_OF_ORDER, error.kind());
        assertThrows(NullPointerException.class, () -> database.bulkLoad(table, Arrays.asList(entry(1), null).iterator()));
        assertThrows(NullPointerException.class, () -> database.bulkLoad(table, null));
        assertNull(get(1));
        assertEquals(0, count());
        database.write(transaction -> transaction.put(table, key(1), new byte[0]));
        assertEquals(1, count());
    }
}
