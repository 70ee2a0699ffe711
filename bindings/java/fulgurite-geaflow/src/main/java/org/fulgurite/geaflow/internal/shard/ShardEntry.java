package org.fulgurite.geaflow.internal.shard;

/** A key and a value of a table of a shard. */
public final class ShardEntry {
    final int table;
    final byte[] key;
    final byte[] value;

    /** An entry of the table with this number. The arrays must not be changed. */
    public ShardEntry(int table, byte[] key, byte[] value) {
        this.table = table;
        this.key = key;
        this.value = value;
    }
}
