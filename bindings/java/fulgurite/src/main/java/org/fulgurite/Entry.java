package org.fulgurite;

import java.util.Objects;

/** A key and its value. */
public final class Entry {
    private final byte[] key;
    private final byte[] value;

    Entry(byte[] key, byte[] value) {
        this.key = key;
        this.value = value;
    }

    /**
     * Returns an entry with these arrays, which are not copied.
     *
     * @param key the key
     * @param value the value
     * @return the entry
     */
    public static Entry of(byte[] key, byte[] value) {
        return new Entry(Objects.requireNonNull(key, "key"), Objects.requireNonNull(value, "value"));
    }

    /**
     * Returns the key.
     *
     * @return the key
     */
    public byte[] key() {
        return key;
    }

    /**
     * Returns the value.
     *
     * @return the value
     */
    public byte[] value() {
        return value;
    }
}
