package org.fulgurite.changes;

import java.util.Collections;
import java.util.List;

/** A commit with all its changes. */
public final class Commit {
    private final long sequence;
    private final List<Change> changes;

    Commit(long sequence, List<Change> changes) {
        this.sequence = sequence;
        this.changes = Collections.unmodifiableList(changes);
    }

    /**
     * Returns the sequence of the commit.
     *
     * @return the sequence
     */
    public long sequence() {
        return sequence;
    }

    /**
     * Returns the changes in the order in which they take effect. A key is changed at most once, unless its table is
     * dropped and created again.
     *
     * @return the changes, in a list that cannot be modified
     */
    public List<Change> changes() {
        return changes;
    }

    @Override
    public String toString() {
        return "commit " + sequence + " with " + changes.size() + " changes";
    }
}
