package org.fulgurite.rdf4j.values;

import java.util.Arrays;

/** Values of one batch of statements. The first one whose text is needed reads the texts of all, in one call. */
public final class ValueGroup {
    private static final StoredValue[] NONE = {};
    private static final int FIRST_VALUES = 8;

    private final TermSource source;
    private StoredValue[] values = NONE;
    private int count;

    /**
     * Creates an empty group.
     *
     * @param source where the terms are read
     */
    public ValueGroup(TermSource source) {
        this.source = source;
    }

    IdScope scope() {
        return source.scope();
    }

    /**
     * Adds a new value. All values are added before the first one is read.
     *
     * @param id its id
     * @return the value
     */
    public synchronized StoredValue add(long id) {
        StoredValue value = StoredValue.of(id, this);
        if (count == values.length) {
            values = Arrays.copyOf(values, Math.max(FIRST_VALUES, 2 * count));
        }
        values[count++] = value;
        return value;
    }

    /** Reads the terms of all values that have none. */
    public synchronized void readAll() {
        if (count == 0) {
            return;
        }
        long[] ids = new long[count];
        for (int index = 0; index < count; index++) {
            ids[index] = values[index].id();
        }
        TermReader terms = source.terms(ids, count);
        for (int index = 0; index < count; index++) {
            values[index].read(terms);
        }
        values = NONE;
        count = 0;
    }

    /** Reads the term of a value of this group, and with it those of all others. */
    synchronized void read(StoredValue value) {
        if (!value.isRead()) {
            readAll();
        }
    }
}
