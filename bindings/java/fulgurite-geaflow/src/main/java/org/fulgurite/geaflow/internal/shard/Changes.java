package org.fulgurite.geaflow.internal.shard;

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

    private final WriteTransaction transaction;
    private final List<Table> tables;

    /** By the number of the table. */
    private final WriteBatch[] batches;

    private int batchedBytes;

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
            batchedBytes += key.length + value.length;
        }
        return isSmall;
    }

    /** Adds a deletion to the batch, and returns true; returns false if the key is large. */
    boolean delete(int table, byte[] key) {
        boolean isSmall = key.length <= SMALL_BYTES;
        if (isSmall) {
            batch(table).delete(key);
            batchedBytes += key.length;
        }
        return isSmall;
    }

    /** Whether the batches should be given to the transaction. */
    boolean isFull() {
        return batchedBytes >= BATCH_BYTES;
    }

    /** Returns the transaction, with all changes. If this fails, some of them are lost. */
    WriteTransaction applied() {
        for (int table = 0; table < batches.length; table++) {
            if (batches[table] != null && batches[table].size() > 0) {
                transaction.apply(tables.get(table), batches[table]);
                batches[table].clear();
            }
        }
        batchedBytes = 0;
        return transaction;
    }

    /** Rolls everything back. */
    void close() {
        transaction.close();
    }
}
