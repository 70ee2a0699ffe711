package org.fulgurite.rdf4j.values;

import java.util.Arrays;

/**
 * Values of one column, or few values that are read in one call ({@link #whole}). The first value of a column whose
 * text is needed is read together with the next ones. While values are needed in their order, each read has twice as
 * many as the one before, from 8 to 512.
 */
public final class ValueGroup {
    private static final StoredValue[] NONE = {};
    private static final int FIRST_VALUES = 8;
    private static final int WINDOW_MIN = 8;
    private static final int WINDOW_MAX = 512;

    private final TermSource source;

    /** In their order; null where the term was read. */
    private StoredValue[] values = NONE;

    private int count;

    /** How many values the next read has; 0 for all. */
    private int window;

    /** The position after those of the last read; -1 before the first read. */
    private int following = -1;

    /**
     * Creates an empty group.
     *
     * @param source where the terms are read
     * @param before the group of the values before these, whose reads say how many are needed; null if there is none
     */
    public ValueGroup(TermSource source, ValueGroup before) {
        this.source = source;
        this.window = before == null ? WINDOW_MIN : before.windowAfter();
    }

    private ValueGroup(TermSource source) {
        this.source = source;
    }

    /**
     * Creates an empty group whose values are all read when the text of one is needed.
     *
     * @param source where the terms are read
     * @return the group
     */
    public static ValueGroup whole(TermSource source) {
        return new ValueGroup(source);
    }

    private synchronized int windowAfter() {
        return following == count ? doubled() : window;
    }

    private int doubled() {
        return Math.min(2 * window, WINDOW_MAX);
    }

    IdScope scope() {
        return source.scope();
    }

    /**
     * Returns whether the group has as many values as one read takes.
     *
     * @return whether it is full
     */
    public synchronized boolean isFull() {
        return count >= WINDOW_MAX;
    }

    /**
     * Adds a new value.
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
        read(0, count);
    }

    /** Reads the term of a value of this group, and with it those of the next values. */
    synchronized void read(StoredValue value) {
        if (value.isRead()) {
            return;
        }
        if (window == 0) {
            readAll();
            return;
        }
        int at = position(value);
        if (following >= 0) {
            window = at == following ? doubled() : WINDOW_MIN;
        }
        following = Math.min(at + window, count);
        read(at, following);
    }

    /** The position of a value that was not read. It is seldom before the last read. */
    private int position(StoredValue value) {
        for (int index = Math.max(following, 0); index < count; index++) {
            if (values[index] == value) {
                return index;
            }
        }
        int index = 0;
        while (values[index] != value) {
            index++;
        }
        return index;
    }

    private void read(int from, int to) {
        long[] ids = new long[to - from];
        int unread = 0;
        for (int index = from; index < to; index++) {
            if (values[index] != null) {
                ids[unread++] = values[index].id();
            }
        }
        if (unread == 0) {
            return;
        }
        TermReader terms = source.terms(ids, unread);
        ValueCache cache = source.cache();
        for (int index = from; index < to; index++) {
            StoredValue value = values[index];
            if (value != null) {
                value.read(terms);
                values[index] = null;
                if (cache != null) {
                    cache.add(value);
                }
            }
        }
    }
}
