package org.fulgurite.changes;

/** One change of a {@link Commit}. */
public final class Change {
    private final Kind kind;
    private final ChangedTable table;
    private final byte[] key;
    private final byte[] value;

    /** For {@link Kind#SUPERSEDED}. */
    private final long valueLength;

    /** For {@link Kind#TABLE_RENAMED}, otherwise null. */
    private final String previousName;

    Change(Kind kind, ChangedTable table, byte[] key, byte[] value, long valueLength, String previousName) {
        this.kind = kind;
        this.table = table;
        this.key = key;
        this.value = value;
        this.valueLength = valueLength;
        this.previousName = previousName;
    }

    /** What a change has done. */
    public enum Kind {
        /** The key has this value: from a put, or as the result of a merge. */
        PUT,
        /**
         * The key got a large value that is no longer stored. A later commit of the same feed replaces it, deletes the
         * key, drops the table, or reports a bulk load of the table.
         */
        SUPERSEDED,
        /** The key was deleted. */
        DELETE,
        /** The table was created. */
        TABLE_CREATED,
        /** The table was dropped. */
        TABLE_DROPPED,
        /** The table was renamed; {@link Change#table} has the new name. */
        TABLE_RENAMED,
        /**
         * A bulk load, or a transaction that was too large for memory, may have changed any keys of the table. The log
         * does not contain them: read the whole table from a new snapshot, and replace your copy.
         */
        BULK_LOADED
    }

    /**
     * Returns what the change has done.
     *
     * @return the kind
     */
    public Kind kind() {
        return kind;
    }

    /**
     * Returns the table.
     *
     * @return the table
     */
    public ChangedTable table() {
        return table;
    }

    /**
     * Returns the key.
     *
     * @return the key; null if the change is one of a whole table
     */
    public byte[] key() {
        return key;
    }

    /**
     * Returns the value.
     *
     * @return the value of a {@link Kind#PUT}; null for all other kinds
     */
    public byte[] value() {
        return value;
    }

    /**
     * Returns the length of the value, which {@link Kind#SUPERSEDED} changes have too.
     *
     * @return the length in bytes; 0 for kinds without a value
     */
    public long valueLength() {
        return valueLength;
    }

    /**
     * Returns the name that a renamed table had before.
     *
     * @return the name; null for all kinds but {@link Kind#TABLE_RENAMED}
     */
    public String previousName() {
        return previousName;
    }

    @Override
    public String toString() {
        return kind + " in " + table;
    }
}
