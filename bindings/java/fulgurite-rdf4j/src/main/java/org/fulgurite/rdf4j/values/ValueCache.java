package org.fulgurite.rdf4j.values;

import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Values of committed terms that were read recently, by their ids, which keep their meaning until a sweep. Values whose
 * term was read refer to no view. Threads share the cache without locks, so an entry may be lost.
 */
public final class ValueCache {
    private static final int BITS_MAX = 24;

    /** Longer texts are not kept. */
    private static final int TEXT_CHARS_MAX = 512;

    private static final long HASH = 0x9E3779B97F4A7C15L;

    private final AtomicReferenceArray<StoredValue> values;
    private final int shift;

    /**
     * Creates an empty cache.
     *
     * @param size how many values it keeps; rounded up to a power of two
     */
    public ValueCache(int size) {
        int bits = Integer.SIZE - Integer.numberOfLeadingZeros(Math.max(size, 2) - 1);
        bits = Math.min(bits, BITS_MAX);
        values = new AtomicReferenceArray<>(1 << bits);
        shift = Long.SIZE - bits;
    }

    /**
     * Returns a value whose term was read.
     *
     * @param id the id of the term
     * @return the value, or null if the cache does not have it
     */
    public StoredValue get(long id) {
        StoredValue value = values.getAcquire(place(id));
        return value != null && value.id() == id ? value : null;
    }

    /**
     * Adds a value whose term was read.
     *
     * @param value the value
     */
    void add(StoredValue value) {
        // The text of a triple is made of those of its parts each time.
        if (!StoredTriple.isTriple(value) && value.stringValue().length() <= TEXT_CHARS_MAX) {
            values.setRelease(place(value.id()), value);
        }
    }

    private int place(long id) {
        return (int) (id * HASH >>> shift);
    }
}
