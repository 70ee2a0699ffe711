package org.fulgurite;

/** A key and its value. */
public final class Entry {
    private final byte[] key;
    private final byte[] value;

    Entry(byte[] key, byte[] value) {
        this.key = key;
        this.value = value;
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
