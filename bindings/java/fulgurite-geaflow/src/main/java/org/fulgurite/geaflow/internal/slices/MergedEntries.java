package org.fulgurite.geaflow.internal.slices;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;

/** The entries of several slices, merged by their keys without the slices. Equal keys come in the order of the slices. */
public final class MergedEntries implements Entries {
    /** The slices after the current entry, each at its next one. */
    private final PriorityQueue<Head> heads = new PriorityQueue<>(
            Comparator.<Head, byte[]>comparing(head -> head.key, Bytes::compareWhole)
                    .thenComparingInt(head -> head.number));

    private Head current;

    private MergedEntries(List<Entries> slices) {
        for (int number = 0; number < slices.size(); number++) {
            add(new Head(slices.get(number), number));
        }
    }

    /** Merges slices. One of them needs no merging. */
    public static Entries of(List<Entries> slices) {
        return slices.size() == 1 ? slices.get(0) : new MergedEntries(slices);
    }

    private void add(Head head) {
        if (head.advance()) {
            heads.add(head);
        }
    }

    @Override
    public boolean next() {
        if (current != null) {
            add(current);
        }
        current = heads.poll();
        return current != null;
    }

    @Override
    public byte[] key() {
        // Other entries are compared with the one of the head.
        return current.key.clone();
    }

    @Override
    public byte[] value() {
        return current.entries.value();
    }

    @Override
    public void seek(byte[] key) {
        List<Head> before = new ArrayList<>();
        while (!heads.isEmpty() && Bytes.compareWhole(heads.peek().key, key) < 0) {
            before.add(heads.poll());
        }
        if (current != null) {
            before.add(current);
            current = null;
        }
        for (Head head : before) {
            head.entries.seek(key);
            add(head);
        }
    }

    /** A slice at an entry. */
    private static final class Head {
        private final Entries entries;
        private final int number;
        private byte[] key;

        Head(Entries entries, int number) {
            this.entries = entries;
            this.number = number;
        }

        boolean advance() {
            boolean isThere = entries.next();
            key = isThere ? entries.key() : null;
            return isThere;
        }
    }
}
