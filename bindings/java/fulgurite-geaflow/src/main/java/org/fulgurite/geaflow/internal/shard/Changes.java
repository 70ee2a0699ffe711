package org.fulgurite.geaflow.internal.shard;

import java.util.Arrays;
import java.util.List;
import org.fulgurite.Table;
import org.fulgurite.WriteBatch;
import org.fulgurite.WriteTransaction;

/**
 * Changes of a shard that are not committed: a transaction, and the last small changes, which it does not have yet. They
 * are given to it together, because each call of the native library costs about as much as a small change.
 */
final class Changes {
    /** Larger entries are given to the transaction at once, so that a call that is refused is the one to throw. */
    private static final int SMALL_BYTES = 4 << 10;

    private static final int BATCH_BYTES = 32 << 10;

    /** Bits for the keys in the batches, which are about a thousand: a power of two. */
    private static final int KEY_BITS = 1 << 14;

    private final WriteTransaction transaction;
    private final List<Table> tables;

    /** By the number of the table. */
    private final WriteBatch[] batches;

    /** Without entries of no bytes: see {@link #hasBatched}. */
    private int batchedBytes;

    /** Whether a batch has a change. */
    private boolean hasBatched;

    /** Has the bit of each key in the batches, so that reads of other keys need not give them to the transaction. */
    private final long[] batchedKeys = new long[KEY_BITS / Long.SIZE];

    Changes(WriteTransaction transaction, List<Table> tables) {
        this.transaction = transaction;
        this.tables = tables;
        batches = new WriteBatch[tables.size()];
    }

    private WriteBatch batch(int table) {
        if (batches[table] == null) {
            batches[table] = new WriteBatch();
        }
        return batches[table];
    }

    /** Puts a small entry into the batch, and returns true; returns false if the entry is large. */
    boolean put(int table, byte[] key, byte[] value) {
        boolean isSmall = (long) key.length + value.length <= SMALL_BYTES;
        if (isSmall) {
            batch(table).put(key, value);
            note(table, key);
            batchedBytes += key.length + value.length;
        }
        return isSmall;
    }

    /** Adds a deletion to the batch, and returns true; returns false if the key is large. */
    boolean delete(int table, byte[] key) {
        boolean isSmall = key.length <= SMALL_BYTES;
        if (isSmall) {
            batch(table).delete(key);
            note(table, key);
            batchedBytes += key.length;
        }
        return isSmall;
    }

    /** The number of a key's bit. */
    private static int bit(int table, byte[] key) {
        int hash = (Arrays.hashCode(key) + table) * 0x9E3779B1;
        return (hash >>> 16) & (KEY_BITS - 1);
    }

    private void note(int table, byte[] key) {
        int bit = bit(table, key);
        batchedKeys[bit / Long.SIZE] |= 1L << bit;
        hasBatched = true;
    }

    /** Whether a change of a key may be in a batch. */
    boolean mayHave(int table, byte[] key) {
        int bit = bit(table, key);
        return (batchedKeys[bit / Long.SIZE] & 1L << bit) != 0;
    }

    /** The transaction, with all changes but those in the batches. */
    WriteTransaction withoutBatches() {
        return transaction;
    }

    /** Whether the batches should be given to the transaction. */
    boolean isFull() {
        return batchedBytes >= BATCH_BYTES;
    }

    /** Returns the transaction, with all changes. If this fails, some of them are lost. */
    WriteTransaction applied() {
        if (!hasBatched) {
            return transaction;
        }
        for (int table = 0; table < batches.length; table++) {
            if (batches[table] != null && batches[table].size() > 0) {
                transaction.apply(tables.get(table), batches[table]);
                batches[table].clear();
            }
        }
        batchedBytes = 0;
        hasBatched = false;
        Arrays.fill(batchedKeys, 0);
        return transaction;
    }

    /** Rolls everything back. */
    void close() {
        transaction.close();
    }
}
