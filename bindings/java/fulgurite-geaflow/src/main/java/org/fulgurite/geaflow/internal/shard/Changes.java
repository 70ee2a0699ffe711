package org.fulgurite.geaflow.internal.shard;

import java.util.Arrays;
import java.util.List;
import org.fulgurite.Table;
import org.fulgurite.WriteBatch;
import org.fulgurite.WriteTransaction;

/**
 * A buffer of small changes, in their order. A transaction gets them together, because each call of the native library
 * costs about as much as a small change. Only one thread at a time may use it.
 */
final class Changes {
    /** A buffer with so many bytes of keys and values is full. */
    static final int FULL_BYTES = 32 << 10;

    /** Bits for the keys in the buffer, which are about a thousand: a power of two. */
    private static final int KEY_BITS = 1 << 14;

    private final int changesMax;

    /** By the number of the table. */
    private final WriteBatch[] batches;

    /** Has the bit of each key, so that reads of other keys need not give the changes to the transaction. */
    private final long[] keys = new long[KEY_BITS / Long.SIZE];

    private int count;
    private long bytes;

    /** An empty buffer for so many tables, which is full with so many changes. */
    Changes(int tables, int changesMax) {
        batches = new WriteBatch[tables];
        this.changesMax = changesMax;
    }

    void add(ShardEntry change) {
        if (batches[change.table] == null) {
            batches[change.table] = new WriteBatch();
        }
        if (change.isDeletion) {
            batches[change.table].delete(change.key);
        } else {
            batches[change.table].put(change.key, change.value);
        }
        int bit = bit(change.table, change.key);
        keys[bit / Long.SIZE] |= 1L << bit;
        count++;
        bytes += change.bytes();
    }

    /** The number of a key's bit. */
    private static int bit(int table, byte[] key) {
        int hash = (Arrays.hashCode(key) + table) * 0x9E3779B1;
        return (hash >>> 16) & (KEY_BITS - 1);
    }

    /** Whether a change of a key may be in the buffer. */
    boolean mayHave(int table, byte[] key) {
        int bit = bit(table, key);
        return (keys[bit / Long.SIZE] & 1L << bit) != 0;
    }

    boolean isFull() {
        return bytes >= FULL_BYTES || count >= changesMax;
    }

    /** About the memory that the changes need in a transaction. */
    long memoryBytes() {
        return bytes + (long) count * ShardEntry.OVERHEAD_BYTES;
    }

    /** Gives the changes to a transaction. If this fails, it may have some of them. */
    void applyTo(WriteTransaction transaction, List<Table> tables) {
        for (int table = 0; table < batches.length; table++) {
            if (batches[table] != null && batches[table].size() > 0) {
                transaction.apply(tables.get(table), batches[table]);
            }
        }
    }

    /** Removes all changes, and keeps the memory. */
    void clear() {
        for (WriteBatch batch : batches) {
            if (batch != null) {
                batch.clear();
            }
        }
        Arrays.fill(keys, 0);
        count = 0;
        bytes = 0;
    }
}
