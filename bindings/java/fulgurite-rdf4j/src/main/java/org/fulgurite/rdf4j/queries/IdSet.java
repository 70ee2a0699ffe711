package org.fulgurite.rdf4j.queries;

import java.util.Arrays;

/** Ids of terms, each once, in the order in which they were added. */
public final class IdSet {
    private static final int FIRST_IDS = 8;
    private static final long HASH = 0x9E3779B97F4A7C15L;

    private long[] ids = new long[FIRST_IDS];

    /** Positions of ids, counted from 1, by a hash of the id; 0 in free places. At least half of them are free. */
    private int[] places = new int[2 * FIRST_IDS];

    private int size;

    /** Returns the number of ids. */
    public int size() {
        return size;
    }

    /** Returns an id by its position, counted from 0. */
    public long get(int position) {
        return ids[position];
    }

    /** Returns whether an id was added. */
    public boolean contains(long id) {
        return places[place(id)] != 0;
    }

    /** Adds an id. Returns whether it is new. */
    public boolean add(long id) {
        int place = place(id);
        if (places[place] != 0) {
            return false;
        }
        if (size == ids.length) {
            grow();
            place = place(id);
        }
        ids[size++] = id;
        places[place] = size;
        return true;
    }

    private void grow() {
        ids = Arrays.copyOf(ids, 2 * size);
        places = new int[4 * size];
        for (int position = 0; position < size; position++) {
            places[place(ids[position])] = position + 1;
        }
    }

    /** The place of an id, or the free place for it. */
    private int place(long id) {
        int mask = places.length - 1;
        int place = (int) (id * HASH >>> Integer.SIZE) & mask;
        while (places[place] != 0 && ids[places[place] - 1] != id) {
            place = place + 1 & mask;
        }
        return place;
    }
}
