package org.fulgurite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.ReadOnlyBufferException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntFunction;
import org.fulgurite.buffers.PackedEntries;
import org.fulgurite.exceptions.ClosedException;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.options.MergeOperator;
import org.junit.jupiter.api.Test;

/** Single keys and values as arrays and as buffers, below and above the size of the memory that a thread has for them. */
class BuffersTest extends WithDatabase {
    private static final int ROOM = 8 << 10;
    private static final int[] SIZES = {0, 1, 100, ROOM - 9, ROOM - 8, ROOM - 7, ROOM, ROOM + 1, 100_000};

    /** Different bytes for each size and kind. */
    private static byte[] bytes(int size, int kind) {
        byte[] bytes = new byte[size];
        for (int index = 0; index < size; index++) {
            bytes[index] = (byte) (31 * index + size + kind);
        }
        return bytes;
    }

    private static byte[] key(int size) {
        return ByteBuffer.allocate(8).putLong(size).array();
    }

    /** A buffer with these bytes between its position and its limit, and others around them. */
    private static ByteBuffer around(byte[] bytes, IntFunction<ByteBuffer> allocate) {
        ByteBuffer buffer = allocate.apply(bytes.length + 7);
        while (buffer.hasRemaining()) {
            buffer.put((byte) 9);
        }
        buffer.position(3);
        buffer.put(bytes).flip().position(3);
        return buffer;
    }

    private static byte[] content(ByteBuffer buffer, int from, int length) {
        byte[] bytes = new byte[length];
        ByteBuffer copy = buffer.duplicate();
        copy.clear().position(from);
        copy.get(bytes);
        return bytes;
    }

    @Test
    void valuesOfAllSizesAreReadAsArraysAndIntoBuffers() {
        for (IntFunction<ByteBuffer> allocate : Arrays.<IntFunction<ByteBuffer>>asList(
                ByteBuffer::allocate, ByteBuffer::allocateDirect)) {
            database.write(txn -> {
                for (int size : SIZES) {
                    ByteBuffer key = around(key(size), allocate);
                    ByteBuffer value = around(bytes(size, 1), allocate);
                    txn.put(table, key, value);
                    assertEquals(8, key.remaining());
                    assertEquals(size, value.remaining());
                    txn.put(table, bytes(size, 2), key(size));
                }
            });
            try (ReadTransaction txn = database.beginRead()) {
                for (int size : SIZES) {
                    assertArrayEquals(bytes(size, 1), txn.get(table, key(size)));
                    assertArrayEquals(bytes(size, 1), database.get(table, key(size)));
                    assertArrayEquals(key(size), txn.get(table, bytes(size, 2)));
                    ByteBuffer into = allocate.apply(size + 5);
                    into.position(4);
                    assertEquals(size, txn.get(table, around(key(size), allocate), into));
                    assertEquals(4 + size, into.position());
                    assertArrayEquals(bytes(size, 1), content(into, 4, size));
                    ByteBuffer ofLongKey = allocate.apply(8);
                    assertEquals(8, txn.get(table, around(bytes(size, 2), allocate), ofLongKey));
                    assertArrayEquals(key(size), content(ofLongKey, 0, 8));
                }
            }
        }
    }

    @Test
    void aValueThatDoesNotFitIsNotCopied() {
        database.write(txn -> {
            for (int size : SIZES) {
                txn.put(table, key(size), bytes(size, 1));
            }
        });
        try (ReadTransaction txn = database.beginRead()) {
            for (int size : SIZES) {
                if (size > 0) {
                    ByteBuffer small = ByteBuffer.allocateDirect(size - 1);
                    assertEquals(size, txn.get(table, ByteBuffer.wrap(key(size)), small));
                    assertEquals(0, small.position());
                }
            }
            ByteBuffer into = ByteBuffer.allocate(10);
            for (byte[] absent : new byte[][] {key(2), bytes(ROOM, 5), bytes(ROOM + 1, 5)}) {
                assertEquals(-1, txn.get(table, ByteBuffer.wrap(absent), into));
                assertNull(txn.get(table, absent));
            }
            assertEquals(0, into.position());
            assertThrows(
                    ReadOnlyBufferException.class,
                    () -> txn.get(table, ByteBuffer.wrap(key(100)), ByteBuffer.allocate(200).asReadOnlyBuffer()));
        }
    }

    @Test
    void changesOfAllSizesReturnWhatTheyDid() {
        Table appended = database.createTable("appended", new TableOptions().merge(MergeOperator.APPEND));
        try (WriteTransaction txn = database.beginWrite()) {
            for (int size : SIZES) {
                assertTrue(txn.insert(table, key(size), bytes(size, 1)));
                assertFalse(txn.insert(table, key(size), bytes(size, 2)));
                assertArrayEquals(bytes(size, 1), txn.get(table, key(size)));
                assertTrue(txn.delete(table, key(size)));
                assertFalse(txn.delete(table, key(size)));
                ByteBuffer key = around(key(size), ByteBuffer::allocateDirect);
                ByteBuffer value = around(bytes(size, 4), ByteBuffer::allocate);
                assertTrue(txn.insert(table, key, value));
                assertFalse(txn.insert(table, key, value));
                assertArrayEquals(bytes(size, 4), txn.get(table, key(size)));
                assertTrue(txn.delete(table, key));
                assertFalse(txn.delete(table, key));
                txn.put(table, bytes(size, 3), key(1));
                assertTrue(txn.delete(table, bytes(size, 3)));
                txn.merge(appended, key(size), bytes(size, 1));
                txn.merge(appended, key(size), bytes(3, 2));
            }
            txn.commit();
        }
        for (int size : SIZES) {
            assertEquals(size + 3, database.get(appended, key(size)).length);
            assertNull(database.get(table, key(size)));
        }
    }

    private static void assertEntry(int number, byte[] key, byte[] value) {
        assertEquals(number, ByteBuffer.wrap(key).getLong());
        assertArrayEquals(bytes(number % 300, 1), value);
    }

    @Test
    void scansFillBuffersWithAllEntriesOnceBesideSingleSteps() {
        int count = 2_000;
        database.write(txn -> {
            WriteBatch batch = new WriteBatch();
            for (int number = 0; number < count; number++) {
                batch.put(key(number), bytes(number % 300, 1));
            }
            txn.apply(table, batch);
        });
        try (ReadTransaction txn = database.beginRead()) {
            for (int size : new int[] {320, 5_000, 1 << 20}) {
                ByteBuffer buffer = ByteBuffer.allocateDirect(size + 3);
                for (Cursor cursor : Arrays.asList(
                        txn.scan(table, KeyRange.all()), database.scan(table, KeyRange.all()))) {
                    int seen = 0;
                    buffer.position(3);
                    for (int copied = cursor.fill(buffer); copied > 0; copied = cursor.fill(buffer)) {
                        assertThrows(IllegalStateException.class, cursor::key);
                        buffer.flip().position(3);
                        PackedEntries entries = new PackedEntries(buffer);
                        for (int read = 0; read < copied; read++) {
                            assertTrue(entries.next());
                            assertEntry(seen++, entries.key(), entries.value());
                            assertEquals(
                                    entries.key().length + entries.value().length,
                                    entries.endPosition() - entries.keyPosition());
                        }
                        assertFalse(entries.next());
                        assertThrows(IllegalStateException.class, entries::key);
                        if (cursor.next()) {
                            assertEntry(seen++, cursor.key(), cursor.value());
                        }
                        buffer.clear().position(3);
                    }
                    assertEquals(count, seen);
                    assertEquals(3, buffer.position());
                    assertFalse(cursor.next());
                }
            }
            Cursor cursor = txn.scanReverse(table, KeyRange.between(key(100), key(200)));
            ByteBuffer small = ByteBuffer.allocate(100);
            assertThrows(FulguriteException.class, () -> cursor.fill(small));
            assertThrows(ReadOnlyBufferException.class, () -> cursor.fill(small.asReadOnlyBuffer()));
            assertTrue(cursor.next());
            assertEntry(199, cursor.key(), cursor.value());
        }
        assertThrows(
                IllegalArgumentException.class, () -> new PackedEntries(ByteBuffer.allocate(7)).next());
        assertThrows(
                IllegalArgumentException.class,
                () -> new PackedEntries(ByteBuffer.allocate(9).put(0, (byte) 2)).next());
    }

    @Test
    void manyKeysAndValuesOfAllSizesAreRead() {
        database.write(txn -> {
            for (int size : SIZES) {
                txn.put(table, key(size), bytes(size, 1));
                txn.put(table, bytes(size, 2), key(size));
            }
        });
        try (ReadTransaction txn = database.beginRead()) {
            for (int size : SIZES) {
                List<byte[]> keys = Arrays.asList(key(size), key(2), bytes(size, 2), key(1));
                List<byte[]> found = txn.getMany(table, keys);
                assertEquals(4, found.size());
                assertArrayEquals(bytes(size, 1), found.get(0));
                assertNull(found.get(1));
                assertArrayEquals(key(size), found.get(2));
                assertArrayEquals(bytes(1, 1), found.get(3));
                // Short keys of values that may not fit.
                found = txn.getMany(table, Arrays.asList(key(2), key(size), key(1)));
                assertNull(found.get(0));
                assertArrayEquals(bytes(size, 1), found.get(1));
                assertArrayEquals(bytes(1, 1), found.get(2));
                ByteBuffer values = ByteBuffer.allocate(4 * 4 + size + 8 + 1).order(ByteOrder.LITTLE_ENDIAN);
                assertEquals(values.capacity(), txn.getMany(table, keys, values));
                assertFalse(values.hasRemaining());
                assertEquals(size, values.getInt(0));
                assertEquals(8, values.getInt(8 + size));
                assertArrayEquals(key(size), content(values, 12 + size, 8));
            }
        }
    }

    @Test
    void manyValuesAreCopiedIntoOneBufferOrNoneOfThem() {
        database.write(txn -> {
            txn.put(table, key(1), bytes(3, 1));
            txn.put(table, key(2), bytes(0, 1));
        });
        try (ReadTransaction txn = database.beginRead()) {
            List<byte[]> keys = Arrays.asList(key(2), key(9), key(1));
            ByteBuffer values = ByteBuffer.allocateDirect(20).order(ByteOrder.LITTLE_ENDIAN);
            values.position(1);
            assertEquals(15, txn.getMany(table, keys, values));
            assertEquals(16, values.position());
            assertEquals(0, values.getInt(1));
            assertEquals(-1, values.getInt(5));
            assertEquals(3, values.getInt(9));
            assertArrayEquals(bytes(3, 1), content(values, 13, 3));
            assertEquals(15, txn.getMany(table, keys, values));
            assertEquals(16, values.position());
        }
    }

    @Test
    void aClosedTransactionThrowsForBuffersToo() {
        WriteTransaction txn = database.beginWrite();
        txn.close();
        ByteBuffer buffer = ByteBuffer.allocateDirect(8);
        assertThrows(ClosedException.class, () -> txn.put(table, buffer, buffer));
        assertThrows(ClosedException.class, () -> txn.get(table, buffer, buffer));
    }

    @Test
    void threadsDoNotShareTheMemoryOfCalls() throws InterruptedException {
        int threads = 4;
        database.write(txn -> {
            for (int number = 0; number < threads; number++) {
                txn.put(table, key(number), bytes(2_000, number));
            }
        });
        Thread[] running = new Thread[threads];
        boolean[] isRight = new boolean[threads];
        try (ReadTransaction txn = database.beginRead()) {
            for (int number = 0; number < threads; number++) {
                int own = number;
                running[number] = new Thread(() -> {
                    byte[] expected = bytes(2_000, own);
                    boolean isSame = true;
                    for (int turn = 0; turn < 2_000; turn++) {
                        isSame &= Arrays.equals(expected, txn.get(table, key(own)));
                    }
                    isRight[own] = isSame;
                });
                running[number].start();
            }
            for (Thread thread : running) {
                thread.join();
            }
        }
        assertArrayEquals(new boolean[] {true, true, true, true}, isRight);
    }

    private static long directBuffers() {
        return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct"))
                .mapToLong(BufferPoolMXBean::getCount)
                .sum();
    }

    @Test
    void virtualThreadsHaveNoMemoryOfTheirOwn() throws Exception {
        Method method;
        try {
            method = Executors.class.getMethod("newVirtualThreadPerTaskExecutor");
        } catch (NoSuchMethodException before21) {
            assumeTrue(false, "this Java has no virtual threads");
            return;
        }
        database.write(txn -> txn.put(table, key(1), bytes(100, 1)));
        long before = directBuffers();
        int threads = 200;
        ExecutorService executor = (ExecutorService) method.invoke(null);
        List<Future<byte[]>> found = new ArrayList<>();
        for (int number = 0; number < threads; number++) {
            found.add(executor.submit(() -> database.get(table, key(1))));
        }
        for (Future<byte[]> value : found) {
            assertArrayEquals(bytes(100, 1), value.get());
        }
        executor.shutdown();
        assertTrue(directBuffers() < before + threads / 2);
    }
}
