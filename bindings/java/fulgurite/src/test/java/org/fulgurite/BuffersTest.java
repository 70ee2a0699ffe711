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
import java.nio.ReadOnlyBufferException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntFunction;
import org.fulgurite.exceptions.ClosedException;
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
