package org.fulgurite.geaflow.internal.slices;

/** Entries of a table in the order of their keys. {@link #next} must be called before the first one is read. */
public interface Entries {
    /** Goes to the next entry, and returns whether there is one. */
    boolean next();

    /** Returns the key without the slice it is in. The caller may change the array. */
    byte[] key();

    /** Returns the value. */
    byte[] value();

    /** Makes {@link #next} go to the first entry from this key on. It must be beyond the current entry. */
    void seek(byte[] key);
}
