package org.fulgurite.geaflow.internal.shard;

import java.util.List;

/** A key and a value of a table of a shard, or the deletion of a key. */
public final class ShardEntry {
    /** Larger ones are given to the transaction at once, so that a call that is refused is the one to throw. */
    private static final int SMALL_BYTES = 4 << 10;

    /** About what a change needs besides its key and value. */
    static final int OVERHEAD_BYTES = 64;

    private static final byte[] NOTHING = {};

    final int table;
    final byte[] key;
    final byte[] value;
    final boolean isDeletion;

    /** An entry of the table with this number. The arrays must not be changed. */
    public ShardEntry(int table, byte[] key, byte[] value) {
        this(table, key, value, false);
    }

    private ShardEntry(int table, byte[] key, byte[] value, boolean isDeletion) {
        this.table = table;
        this.key = key;
        this.value = value;
        this.isDeletion = isDeletion;
    }

    static ShardEntry deletion(int table, byte[] key) {
        return new ShardEntry(table, key, NOTHING, true);
    }

    /** The bytes of the key and the value. */
    long bytes() {
        return (long) key.length + value.length;
    }

    /** Whether entries fit into one buffer of small ones. */
    static boolean areSmall(List<ShardEntry> entries) {
        long sum = 0;
        for (ShardEntry entry : entries) {
            if (entry.bytes() > SMALL_BYTES) {
                return false;
            }
            sum += entry.bytes();
        }
        return sum <= Changes.FULL_BYTES;
    }
}
