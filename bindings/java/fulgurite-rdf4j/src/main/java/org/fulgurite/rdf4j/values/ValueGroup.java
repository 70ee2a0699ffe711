package org.fulgurite.rdf4j.values;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

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

    /**
     * The groups of a store that have values whose terms were not read. The store reads them before a sweep, and before
     * it is closed, so that programs can use values after that. Groups whose values the program has dropped are
     * garbage. A query may create a group for each of its rows, so threads seldom share a list.
     */
    public static final class Unread {
        private static final int LISTS = 16;

        private final Groups[] lists = new Groups[LISTS];

        /** Creates an empty set. */
        public Unread() {
            for (int index = 0; index < LISTS; index++) {
                lists[index] = new Groups();
            }
        }

        private Known add(ValueGroup group) {
            return lists[(int) Thread.currentThread().getId() & LISTS - 1].add(group);
        }

        /** Returns the number of groups, with those that are garbage and were not removed yet. */
        int count() {
            int count = 0;
            for (Groups list : lists) {
                count += list.all().size();
            }
            return count;
        }

        /**
         * Reads all terms, also those after one that cannot be read. A value whose term cannot be read throws an
         * exception when it is used.
         *
         * @throws RuntimeException the first error, if a term cannot be read
         */
        public void readAll() {
            RuntimeException first = null;
            for (Groups list : lists) {
                for (Known known : list.all()) {
                    ValueGroup group = known.get();
                    try {
                        if (group != null) {
                            group.readAll();
                        }
                    } catch (RuntimeException unreadable) {
                        first = first == null ? unreadable : first;
                    }
                }
            }
            if (first != null) {
                throw first;
            }
        }
    }

    /** A group in a list, which does not keep it from being garbage. */
    private static final class Known extends WeakReference<ValueGroup> {
        private final Groups list;
        private Known previous;
        private Known next;

        Known(ValueGroup group, Groups list) {
            super(group, list.collected);
            this.list = list;
        }
    }

    /** A list of groups. */
    private static final class Groups {
        private final ReferenceQueue<ValueGroup> collected = new ReferenceQueue<>();
        private Known first;

        synchronized Known add(ValueGroup group) {
            for (Object old = collected.poll(); old != null; old = collected.poll()) {
                unlink((Known) old);
            }
            Known added = new Known(group, this);
            added.next = first;
            if (first != null) {
                first.previous = added;
            }
            first = added;
            return added;
        }

        /** Removes a group that is not garbage. */
        synchronized void remove(Known known) {
            // Then it does not get into the queue.
            known.clear();
            unlink(known);
        }

        private void unlink(Known known) {
            if (known.previous == null) {
                first = known.next;
            } else {
                known.previous.next = known.next;
            }
            if (known.next != null) {
                known.next.previous = known.previous;
            }
        }

        synchronized List<Known> all() {
            List<Known> all = new ArrayList<>();
            for (Known known = first; known != null; known = known.next) {
                all.add(known);
            }
            return all;
        }
    }

    private final TermSource source;

    /** In their order; null where the term was read. */
    private StoredValue[] values = NONE;

    private int count;

    /** How many terms were not read. */
    private int unread;

    /** The entry of this group in a list of {@link Unread}; null if all terms were read, or if there is no list. */
    private Known known;

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
        if (unread++ == 0 && source.unread() != null) {
            known = source.unread().add(this);
        }
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
        int needed = 0;
        for (int index = from; index < to; index++) {
            if (values[index] != null) {
                ids[needed++] = values[index].id();
            }
        }
        if (needed == 0) {
            return;
        }
        TermReader terms = source.terms(ids, needed);
        ValueCache cache = source.cache();
        for (int index = from; index < to; index++) {
            StoredValue value = values[index];
            if (value != null) {
                value.read(terms);
                values[index] = null;
                unread--;
                if (cache != null) {
                    cache.add(value);
                }
            }
        }
        if (unread == 0 && known != null) {
            known.list.remove(known);
            known = null;
        }
    }
}
