package org.fulgurite;

import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.util.Arrays;
import java.util.Objects;
import org.fulgurite.buffers.PackedEntries;
import org.fulgurite.internal.EntryReader;
import org.fulgurite.internal.Exceptions;
import org.fulgurite.internal.Handle;
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
 * <p>A cursor of a write transaction may or may not see changes that are made during the scan. Use a cursor on one
 * thread at a time.
 */
public final class Cursor implements AutoCloseable {
    private static final int FIRST_BATCH_BYTES = 4 << 10;

    /** Larger batches save little, and a scan that ends early has read more for nothing. */
    private static final int BATCH_BYTES_MAX = 64 << 10;

    /** Set in the result of {@link Native#scan} if there are no more entries. */
    private static final long LAST = 1L << 32;

    /** The entries of a cursor that has fetched none. */
    private static final EntryReader NONE = new EntryReader(ByteBuffer.allocate(0));

    private final Table table;
    private final boolean reverse;
    private final KeyRange whole;

    /** Null if the cursor has its own snapshot and the entries fit into the first batch. */
    private Transaction transaction;

    /** The database of a cursor that has its own snapshot, otherwise null. */
    private final Database database;

    /** What the cursor was made from: the transaction, or the database. If it is closed, the cursor has no entries. */
    private final Handle origin;

    /** What was not fetched before the batch; null if nothing is left. */
    private KeyRange rest;

    /** No entries follow those of the batch. */
    private boolean isLast;

    private byte[] batch = new byte[FIRST_BATCH_BYTES];

    /** The entries of the batch; {@link #NONE} if it was forgotten. */
    private EntryReader entries = NONE;

    /** A cursor of a transaction; or one with its own snapshot of a database, whose transaction is null. */
    Cursor(Database database, Transaction transaction, Table table, KeyRange range, boolean reverse) {
        this.database = database;
        this.transaction = transaction;
        this.origin = transaction == null ? database.handle : transaction.handle;
        this.table = table;
        this.reverse = reverse;
        this.whole = Objects.requireNonNull(range, "range");
        this.rest = range;
    }

    /**
     * Moves to the next entry.
     *
     * @return whether there is one; false after the last entry, and if the cursor is closed
     * @throws org.fulgurite.exceptions.ClosedException if the transaction, or the database of {@link Database#scan}, is
     *     closed and entries are left
     */
    public boolean next() {
        if (entries.hasNext()) {
            origin.raw();
        } else if (!fetch()) {
            return false;
        }
        entries.next();
        return true;
    }

    /**
     * Copies the entries after the current one into a buffer, as many as fit between its position and its limit, and
     * moves the position past them. {@link PackedEntries} reads them there, and describes the format. Afterwards there
     * is no current entry. The next call of this method or of {@link #next()} continues after the copied entries, also
     * if the scan fails and this call throws.
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
     * @param buffer the buffer, direct or not
     * @return the number of entries that were copied; 0 if there are no more entries
     * @throws org.fulgurite.exceptions.FulguriteException of the kind {@link
     *     org.fulgurite.exceptions.ErrorKind#INVALID} if the next entry alone does not fit; the next call continues
     *     with it
     * @throws ReadOnlyBufferException if the buffer is read-only
     * @throws org.fulgurite.exceptions.ClosedException as {@link #next()}
     */
    public int fill(ByteBuffer buffer) {
        if (buffer.isReadOnly()) {
            throw new ReadOnlyBufferException();
        }
        if (entries.hasNext()) {
            origin.raw();
        }
        int copied = 0;
        do {
            int from = entries.nextPosition();
            while (entries.hasNext() && entries.nextBytes() <= buffer.remaining() - (entries.nextPosition() - from)) {
                entries.next();
                copied++;
            }
            buffer.put(batch, from, entries.nextPosition() - from);
        } while (!entries.hasNext() && fetch());
        entries.leave();
        if (copied == 0 && entries.hasNext()) {
            throw Exceptions.invalid("the next entry needs " + entries.nextBytes() + " bytes, and the buffer has "
                    + buffer.remaining() + "; use a larger one");
        }
        return copied;
    }

    /**
     * Fetches the next batch into the beginning of the buffer. The current entry is the last one of the batch before,
     * if there is one. Returns whether the batch has entries.
     */
    private boolean fetch() {
        boolean isFirst = entries == NONE;
        if (!isFirst) {
            rest = isLast ? null : rest(key());
        }
        // If the scan fails, there is no current entry.
        forget();
        if (rest == null) {
            return false;
        }
        if (!isFirst && batch.length < BATCH_BYTES_MAX) {
            batch = new byte[2 * batch.length];
        }
        long found = scanWhole();
        if (transaction == null && (found & LAST) == 0) {
            // The next batches must be of the same snapshot as the first one.
            transaction = database.beginAbandonableRead();
            found = scanWhole();
        }
        int bytes = (int) found;
        isLast = (found & LAST) != 0;
        if (isLast) {
            closeOwn();
        }
        if (bytes == 0) {
            rest = null;
            return false;
        }
        entries = new EntryReader(ByteBuffer.wrap(batch, 0, bytes));
        return true;
    }

    /** Scans with a buffer that is large enough for the first entry. */
    private long scanWhole() {
        long found = scan();
        while (found < 0) {
            if (-found > Integer.MAX_VALUE - 16) {
                throw new OutOfMemoryError("an entry of " + -found + " bytes does not fit into an array");
            }
            batch = new byte[(int) -found];
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

    private long scan() {
        // First: the error names what the program has closed, not the transaction of the cursor.
        long raw = origin.raw();
        return Native.scan(
                transaction == null ? raw : transaction.handle.raw(),
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
     * @throws UnsupportedOperationException if the cursor is one of {@link Database#scan}
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
        entries = NONE;
    }

    /**
     * Returns the key of the current entry.
     *
     * @return a copy of the key
     * @throws IllegalStateException before the first call of {@link #next()}, after {@link #fill}, and after the last
     *     entry
     */
    public byte[] key() {
        return Arrays.copyOfRange(batch, entries.keyPosition(), entries.valuePosition());
    }

    /**
     * Returns the value of the current entry.
     *
     * @return a copy of the value
     * @throws IllegalStateException before the first call of {@link #next()}, after {@link #fill}, and after the last
     *     entry
     */
    public byte[] value() {
        return Arrays.copyOfRange(batch, entries.valuePosition(), entries.endPosition());
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
        return entries.keyBuffer();
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
        return entries.valueBuffer();
    }

    /** Ends the scan, and frees its buffer. */
    @Override
    public void close() {
        closeOwn();
        rest = null;
        forget();
        batch = new byte[0];
    }
}
