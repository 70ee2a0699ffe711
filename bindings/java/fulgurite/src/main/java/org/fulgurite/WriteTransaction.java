package org.fulgurite;

import java.nio.ByteBuffer;
import java.util.Objects;
import org.fulgurite.exceptions.RetryableException;
import org.fulgurite.internal.Exceptions;
import org.fulgurite.internal.Native;
import org.fulgurite.internal.Room;
import org.fulgurite.options.Durability;

/**
 * A write transaction: changes that are committed atomically, or discarded. It reads a snapshot and its own changes.
 * Any number of write transactions run concurrently. If another transaction has committed a conflicting change,
 * {@link #commit()} throws a {@link RetryableException}; {@link Database#update} retries automatically. Closing a
 * transaction that was not committed discards its changes. Calls of several threads run one after the other.
 *
 * <pre>{@code
 * try (WriteTransaction txn = database.beginWrite()) {
 *     txn.put(table, key, value);
 *     txn.commit();
 * }
 * }</pre>
 */
public final class WriteTransaction extends Transaction {
    private static final byte[] NOTHING = {};
    private static final ByteBuffer NO_BYTES = ByteBuffer.wrap(NOTHING);

    WriteTransaction(Database database, long raw) {
        super(database, raw, "write transaction", true);
    }

    /** A state of a write transaction that it can roll back to: see {@link #savepoint()}. */
    public static final class Savepoint {
        private final WriteTransaction transaction;
        private final int number;

        private Savepoint(WriteTransaction transaction, int number) {
            this.transaction = transaction;
            this.number = number;
        }
    }

    /**
     * Stores a value, and replaces an existing one.
     *
     * @param table the table
     * @param key the key, at most 64 MiB
     * @param value the value
     * @throws org.fulgurite.exceptions.FulguriteException of the kind {@link
     *     org.fulgurite.exceptions.ErrorKind#KEY_TOO_LONG} if the key is longer
     */
    public void put(Table table, byte[] key, byte[] value) {
        Room.change(handle.raw(), table.handle.raw(), Room.PUT, key, value);
    }

    /**
     * Stores a value, and replaces an existing one. The buffers can be direct or not. Their bytes from the position to
     * the limit are stored; both stay as they are.
     *
     * @param table the table
     * @param key the key, at most 64 MiB
     * @param value the value
     */
    public void put(Table table, ByteBuffer key, ByteBuffer value) {
        Room.change(handle.raw(), table.handle.raw(), Room.PUT, key, value);
    }

    /**
     * Stores a value unless the key exists.
     *
     * @param table the table
     * @param key the key
     * @param value the value
     * @return whether the value was stored
     */
    public boolean insert(Table table, byte[] key, byte[] value) {
        return Room.change(handle.raw(), table.handle.raw(), Room.INSERT, key, value);
    }

    /**
     * Stores a value unless the key exists. The buffers are as in {@link #put(Table, ByteBuffer, ByteBuffer)}.
     *
     * @param table the table
     * @param key the key
     * @param value the value
     * @return whether the value was stored
     */
    public boolean insert(Table table, ByteBuffer key, ByteBuffer value) {
        return Room.change(handle.raw(), table.handle.raw(), Room.INSERT, key, value);
    }

    /**
     * Merges an operand into the value of a key, by the table's {@link TableOptions#merge operator} or {@link
     * TableOptions#mergeFunction function}. The operand is applied to the value that the key has when this transaction
     * commits, so merges do not conflict with each other. If that fails, {@link #commit()} throws an exception of the
     * kind {@code UNMERGEABLE}.
     *
     * @param table the table
     * @param key the key
     * @param operand the operand
     * @throws org.fulgurite.exceptions.FulguriteException of the kind {@link
     *     org.fulgurite.exceptions.ErrorKind#INVALID} if the table has no operator, or the operand is not of its type
     */
    public void merge(Table table, byte[] key, byte[] operand) {
        Objects.requireNonNull(operand, "operand");
        Room.change(handle.raw(), table.handle.raw(), Room.MERGE, key, operand);
    }

    /**
     * Deletes a key.
     *
     * @param table the table
     * @param key the key
     * @return whether the key existed
     */
    public boolean delete(Table table, byte[] key) {
        return Room.change(handle.raw(), table.handle.raw(), Room.DELETE, key, NOTHING);
    }

    /**
     * Deletes a key: the bytes of a buffer from its position to its limit. The buffer can be direct or not, and stays
     * as it is.
     *
     * @param table the table
     * @param key the key
     * @return whether the key existed
     */
    public boolean delete(Table table, ByteBuffer key) {
        return Room.change(handle.raw(), table.handle.raw(), Room.DELETE, key, NO_BYTES);
    }

    /**
     * Deletes all entries of a range.
     *
     * @param table the table
     * @param range the keys
     * @return the number of deleted entries
     */
    public long deleteRange(Table table, KeyRange range) {
        return Native.deleteRange(
                handle.raw(), table.handle.raw(), range.lowKind, range.low, range.highKind, range.high);
    }

    /**
     * Makes the changes of a batch in their order, all of them or none. This is faster than single calls, especially if
     * the keys are in ascending order.
     *
     * @param table the table
     * @param batch the changes
     */
    public void apply(Table table, WriteBatch batch) {
        Native.apply(handle.raw(), table.handle.raw(), batch.bytes(), batch.length());
    }

    /**
     * Returns a savepoint: the current state of the transaction.
     *
     * @return the savepoint
     */
    public Savepoint savepoint() {
        return new Savepoint(this, Native.savepoint(handle.raw()));
    }

    /**
     * Undoes all changes since a savepoint. The savepoint can be used again; later ones become invalid.
     *
     * @param savepoint a savepoint of this transaction
     * @throws org.fulgurite.exceptions.FulguriteException of the kind {@link
     *     org.fulgurite.exceptions.ErrorKind#INVALID} if it is one of another transaction, or is invalid
     */
    public void rollbackTo(Savepoint savepoint) {
        if (savepoint.transaction != this) {
            throw Exceptions.invalid("the savepoint belongs to another transaction");
        }
        Native.rollbackTo(handle.raw(), savepoint.number);
    }

    /**
     * Commits with the durability of the database's options. The transaction ends, also if the commit fails.
     *
     * @return the sequence of the commit
     * @throws RetryableException if another transaction has committed a conflicting change: run this one again
     * @throws IllegalStateException if this thread is in the iterator of {@link Database#bulkLoad}; the transaction
     *     stays open then
     */
    public long commit() {
        database.checkNotLoading();
        return Native.commit(release(), -1);
    }

    /**
     * Commits with the given durability. The transaction ends, also if the commit fails.
     *
     * @param durability what the commit survives when this returns
     * @return the sequence of the commit
     * @throws RetryableException if another transaction has committed a conflicting change: run this one again
     * @throws IllegalStateException if this thread is in the iterator of {@link Database#bulkLoad}; the transaction
     *     stays open then
     */
    public long commit(Durability durability) {
        Objects.requireNonNull(durability, "durability");
        database.checkNotLoading();
        return Native.commit(release(), durability.ordinal());
    }
}
