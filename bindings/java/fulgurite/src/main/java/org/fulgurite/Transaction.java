package org.fulgurite;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.fulgurite.internal.Handle;
import org.fulgurite.internal.Native;
import org.fulgurite.internal.Room;

/** The reads that read transactions and write transactions share. */
public abstract class Transaction implements AutoCloseable {
    final Handle handle;

    /** Kept, so that it is not collected and closed before this object. */
    final Database database;

    Transaction(Database database, long raw, String name, boolean reported) {
        this.database = database;
        this.handle = database.child(this, raw, name, reported);
    }

    /**
     * Returns the value of a key.
     *
     * @param table the table
     * @param key the key
     * @return a copy of the value, or null if the key does not exist
     */
    public byte[] get(Table table, byte[] key) {
        return Room.get(handle.raw(), table.handle.raw(), key);
    }

    /**
     * Copies the value of a key into a buffer at its position, and moves the position past the value. If the value does
     * not fit before the limit, nothing is copied.
     *
     * @param table the table
     * @param key the key, from the position of the buffer to its limit; both stay as they are
     * @param value the buffer, direct or not
     * @return the length of the value, which is greater than {@code value.remaining()} was if it does not fit; -1 if
     *     the key does not exist
     */
    public int get(Table table, ByteBuffer key, ByteBuffer value) {
        return Room.get(handle.raw(), table.handle.raw(), key, value);
    }

    /**
     * Returns whether a key exists.
     *
     * @param table the table
     * @param key the key
     * @return whether it exists
     */
    public boolean containsKey(Table table, byte[] key) {
        return get(table, key) != null;
    }

    /**
     * Returns the values of many keys. This is several times faster than single gets.
     *
     * @param table the table
     * @param keys the keys, in any order
     * @return the values in the order of the keys, in a list of fixed size; null for each key that does not exist
     */
    public List<byte[]> getMany(Table table, List<byte[]> keys) {
        byte[][] values = keys.toArray(new byte[0][]);
        ByteBuffer found = Room.getMany(handle.raw(), table.handle.raw(), values);
        byte[] bytes = found.array();
        int at = 0;
        for (int index = 0; index < values.length; index++) {
            int length = found.getInt(at);
            at += Integer.BYTES;
            values[index] = length < 0 ? null : Arrays.copyOfRange(bytes, at, at + length);
            at += Math.max(length, 0);
        }
        return Arrays.asList(values);
    }

    /**
     * Copies the values of many keys into a buffer at its position, and moves the position past them. For each key, in
     * the order of the keys, the buffer gets the length of the value (4 bytes, little-endian; -1 if the key does not
     * exist), and the value. If they do not fit before the limit, nothing is copied.
     *
     * @param table the table
     * @param keys the keys, in any order
     * @param values the buffer, direct or not
     * @return the bytes of the lengths and values, which are more than {@code values.remaining()} was if they do not
     *     fit
     */
    public int getMany(Table table, List<byte[]> keys, ByteBuffer values) {
        ByteBuffer found = Room.getMany(handle.raw(), table.handle.raw(), keys.toArray(new byte[0][]));
        int bytes = found.remaining();
        if (bytes <= values.remaining()) {
            values.put(found);
        }
        return bytes;
    }

    /**
     * Begins a scan in ascending order.
     *
     * @param table the table
     * @param range the keys
     * @return a cursor before the first entry
     */
    public Cursor scan(Table table, KeyRange range) {
        return cursor(table, range, false);
    }

    /**
     * Begins a scan in descending order.
     *
     * @param table the table
     * @param range the keys
     * @return a cursor after the last entry
     */
    public Cursor scanReverse(Table table, KeyRange range) {
        return cursor(table, range, true);
    }

    private Cursor cursor(Table table, KeyRange range, boolean reverse) {
        handle.raw();
        table.handle.raw();
        return new Cursor(null, this, table, range, reverse);
    }

    /**
     * Returns the entries of a range in ascending order, for loops. Iterators need not be closed. They cannot be used
     * after the transaction ends.
     *
     * @param table the table
     * @param range the keys
     * @return the entries; each iterator scans the table
     */
    public Iterable<Entry> entries(Table table, KeyRange range) {
        return () -> new Entries(scan(table, range));
    }

    /** An iterator over a cursor. */
    private static final class Entries implements Iterator<Entry> {
        private final Cursor cursor;
        private boolean isFetched;
        private boolean hasNext;

        Entries(Cursor cursor) {
            this.cursor = cursor;
        }

        @Override
        public boolean hasNext() {
            if (!isFetched) {
                hasNext = cursor.next();
                isFetched = true;
            }
            return hasNext;
        }

        @Override
        public Entry next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            isFetched = false;
            return new Entry(cursor.key(), cursor.value());
        }
    }

    /**
     * Returns the exact number of entries in a range.
     *
     * @param table the table
     * @param range the keys
     * @return the number of entries
     */
    public long count(Table table, KeyRange range) {
        return Native.count(
                handle.raw(), table.handle.raw(), range.lowKind, range.low, range.highKind, range.high);
    }

    /**
     * Returns an estimate of the number of entries in a range, which takes the time of a few gets.
     *
     * @param table the table
     * @param range the keys
     * @return the estimated number of entries
     */
    public long estimateCount(Table table, KeyRange range) {
        return Native.estimate(
                handle.raw(), table.handle.raw(), range.lowKind, range.low, range.highKind, range.high)[0];
    }

    /**
     * Returns the sequence of the newest commit that this transaction sees.
     *
     * @return the sequence
     */
    public long sequence() {
        return Native.sequence(handle.raw());
    }

    /**
     * Returns whether the transaction has not ended.
     *
     * @return whether it is open
     */
    public boolean isOpen() {
        return handle.isOpen();
    }

    /**
     * Ends the transaction, after running calls of other threads have returned. A write transaction that was not
     * committed discards its changes. A second call does nothing, and so does a call after a commit.
     */
    @Override
    public void close() {
        handle.close();
    }

    /** Ends the management of the handle, for a call that ends the transaction. */
    long release() {
        long raw = handle.release();
        if (raw == 0) {
            // Throws the exception for a closed object.
            handle.raw();
        }
        return raw;
    }
}
