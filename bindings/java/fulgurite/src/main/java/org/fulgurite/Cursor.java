package org.fulgurite;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.ReadOnlyBufferException;
import java.util.Arrays;
import org.fulgurite.buffers.PackedEntries;
import org.fulgurite.internal.Exceptions;
import org.fulgurite.internal.Native;

/**
 * A scan of a range of keys, in ascending or descending order. It fetches entries in batches, which grow from 4 KiB to
 * 64 KiB.
 *
 * <pre>{@code
 * try (Cursor cursor = txn.scan(table, KeyRange.all())) {
 *     while (cursor.next()) {
 *         use(cursor.key(), cursor.value());
 *     }
 * }
 * }</pre>
 *
 * <p>A cursor of a write transaction may or may not see changes that are made during the scan. A cursor is for one
 * thread at a time.
 */
public final class Cursor implements AutoCloseable {
    private static final int FIRST_BATCH_BYTES = 4 << 10;

    /** Larger batches save little, and a scan that ends early has read more for nothing. */
    private static final int BATCH_BYTES_MAX = 64 << 10;

    /** Set in the result of {@link Native#scan} if there are no more entries. */
    private static final long LAST = 1L << 32;

    private final Table table;
    private final boolean reverse;
    private final KeyRange whole;

    /** Null if the cursor has its own snapshot and the entries fit into the first batch. */
    private Transaction transaction;

    /** The database of a cursor that has its own snapshot, otherwise null. */
    private final Database database;

    /** What was not fetched before the batch; null if nothing is left. */
    private KeyRange rest;

    /** No entries follow those of the batch. */
    private boolean isLast;

    private byte[] batch;
    private ByteBuffer numbers;

    /** The batch for callers, who must not write to it. */
    private ByteBuffer readOnly;

    private int end;

    /** Where the entry after the current one begins; the end of the batch if it is not fetched. */
    private int following;

    /** The beginning of the current entry's key; negative if there is no current entry. */
    private int at = -1;

    private int keyLength;
    private int valueLength;

    /** A cursor of a transaction; or one with its own snapshot of a database, whose transaction is null. */
    Cursor(Database database, Transaction transaction, Table table, KeyRange range, boolean reverse) {
        this.database = database;
        this.transaction = transaction;
        this.table = table;
        this.reverse = reverse;
        this.whole = range;
        this.rest = range;
        resize(FIRST_BATCH_BYTES);
    }

    /**
     * Moves to the next entry.
     *
     * @return false if there are no more entries
     */
    public boolean next() {
        if (following == end && !fetch()) {
            return false;
        }
        read();
        return true;
    }

    /**
     * Copies the entries after the current one into a buffer, as many as fit between its position and its limit, and
     * moves the position past them. {@link PackedEntries} reads them there, and describes the format. Afterwards there
     * is no current entry. The next call of this method or of {@link #next()} continues after those that were copied,
     * also if this one throws because the scan fails.
     *
     * <pre>{@code
     * ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 20);
     * while (cursor.fill(buffer) > 0) {
     *     buffer.flip();
     *     PackedEntries entries = new PackedEntries(buffer);
     *     while (entries.next()) {
     *         use(entries.keyBuffer(), entries.valueBuffer());
     *     }
     *     buffer.clear();
     * }
     * }</pre>
     *
     * @param entries the buffer, direct or not
     * @return the number of entries that were copied; 0 if there are no more entries
     * @throws org.fulgurite.exceptions.FulguriteException of the kind {@link
     *     org.fulgurite.exceptions.ErrorKind#INVALID} if the next entry alone does not fit; the next call continues
     *     with it
     */
    public int fill(ByteBuffer entries) {
        if (entries.isReadOnly()) {
            throw new ReadOnlyBufferException();
        }
        int copied = 0;
        do {
            int from = following;
            while (following < end && followingBytes() <= entries.remaining() - (following - from)) {
                read();
                copied++;
            }
            entries.put(batch, from, following - from);
        } while (following == end && fetch());
        at = -1;
        if (copied == 0 && following < end) {
            throw Exceptions.invalid("the next entry needs " + followingBytes() + " bytes, and the buffer has "
                    + entries.remaining() + "; use a larger one");
        }
        return copied;
    }

    /** The bytes of the entry after the current one, which is fetched. */
    private int followingBytes() {
        return PackedEntries.HEADER_BYTES + numbers.getInt(following) + numbers.getInt(following + 4);
    }

    /** Moves to the entry after the current one, which is fetched. */
    private void read() {
        keyLength = numbers.getInt(following);
        valueLength = numbers.getInt(following + 4);
        at = following + PackedEntries.HEADER_BYTES;
        following = at + keyLength + valueLength;
    }

    /**
     * Fetches the next batch into the beginning of the buffer. The current entry is the last one of the batch before,
     * if there is one. Returns whether the batch has entries.
     */
    private boolean fetch() {
        boolean isFirst = end == 0;
        if (!isFirst) {
            rest = isLast ? null : rest(key());
        }
        // If the scan fails, there is no current entry.
        forget();
        if (rest == null) {
            return false;
        }
        if (!isFirst && batch.length < BATCH_BYTES_MAX) {
            resize(2 * batch.length);
        }
        long found = scanWhole();
        if (transaction == null && (found & LAST) == 0) {
            // The next batches must be of the same snapshot as the first one.
            transaction = database.beginAbandonableRead();
            found = scanWhole();
        }
        end = (int) found;
        isLast = (found & LAST) != 0;
        if (isLast) {
            closeOwn();
        }
        if (end == 0) {
            rest = null;
        }
        return end > 0;
    }

    /** Scans with a buffer that is large enough for the first entry. */
    private long scanWhole() {
        long found = scan();
        while (found < 0) {
            if (-found > Integer.MAX_VALUE - 16) {
                throw new OutOfMemoryError("an entry of " + -found + " bytes does not fit into an array");
            }
            resize((int) -found);
            found = scan();
        }
        return found;
    }

    /** Closes the transaction if it is the cursor's own one. */
    private void closeOwn() {
        if (database != null && transaction != null) {
            transaction.close();
            transaction = null;
        }
    }

    private KeyRange rest(byte[] last) {
        return reverse ? rest.before(last) : rest.after(last);
    }

    private void resize(int bytes) {
        batch = new byte[bytes];
        numbers = ByteBuffer.wrap(batch).order(ByteOrder.LITTLE_ENDIAN);
        readOnly = ByteBuffer.wrap(batch).asReadOnlyBuffer();
    }

    private long scan() {
        return Native.scan(
                (transaction == null ? database.handle : transaction.handle).raw(),
                table.handle.raw(),
                reverse,
                rest.lowKind,
                rest.low,
                rest.highKind,
                rest.high,
                batch);
    }

    /**
     * Continues the scan at {@code key}: with the first entry whose key is at least {@code key}, or in descending order
     * with the last entry whose key is at most {@code key}. Call {@link #next()} to move to that entry. Keys outside of
     * the range of the scan are never returned.
     *
     * @param key the key
     */
    public void seek(byte[] key) {
        if (database != null) {
            throw new UnsupportedOperationException(
                    "a cursor of Database.scan cannot seek, because its snapshot may be released; scan a transaction");
        }
        byte[] copy = key.clone();
        rest = reverse ? whole.upTo(copy) : whole.from(copy);
        forget();
    }

    /** Forgets the batch. */
    private void forget() {
        end = 0;
        following = 0;
        at = -1;
    }

    /**
     * Returns the key of the current entry.
     *
     * @return a copy of the key
     * @throws IllegalStateException before the first call of {@link #next()}, after {@link #fill}, and after the last
     *     entry
     */
    public byte[] key() {
        checkEntry();
        return Arrays.copyOfRange(batch, at, at + keyLength);
    }

    /**
     * Returns the value of the current entry.
     *
     * @return a copy of the value
     * @throws IllegalStateException before the first call of {@link #next()}, after {@link #fill}, and after the last
     *     entry
     */
    public byte[] value() {
        checkEntry();
        return Arrays.copyOfRange(batch, at + keyLength, at + keyLength + valueLength);
    }

    /**
     * Returns the key of the current entry without copying it.
     *
     * @return a read-only buffer, which is valid until the next call of {@link #next()}, {@link #fill} or
     *     {@link #seek}
     * @throws IllegalStateException before the first call of {@link #next()}, after {@link #fill}, and after the last
     *     entry
     */
    public ByteBuffer keyBuffer() {
        checkEntry();
        return part(at, keyLength);
    }

    /**
     * Returns the value of the current entry without copying it.
     *
     * @return a read-only buffer, which is valid until the next call of {@link #next()}, {@link #fill} or
     *     {@link #seek}
     * @throws IllegalStateException before the first call of {@link #next()}, after {@link #fill}, and after the last
     *     entry
     */
    public ByteBuffer valueBuffer() {
        checkEntry();
        return part(at + keyLength, valueLength);
    }

    private ByteBuffer part(int position, int length) {
        ByteBuffer part = readOnly.duplicate();
        part.limit(position + length);
        part.position(position);
        return part.slice();
    }

    private void checkEntry() {
        if (at < 0) {
            throw new IllegalStateException("the cursor is at no entry; next() must have returned true");
        }
    }

    /** Ends the scan, and frees its buffer. */
    @Override
    public void close() {
        closeOwn();
        rest = null;
        forget();
        resize(0);
    }
}
