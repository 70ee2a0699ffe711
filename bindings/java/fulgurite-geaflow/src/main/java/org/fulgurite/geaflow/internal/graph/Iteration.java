package org.fulgurite.geaflow.internal.graph;

import java.util.NoSuchElementException;
import org.apache.geaflow.common.iterator.CloseableIterator;
import org.fulgurite.ReadTransaction;

/**
 * An iterator over elements of a snapshot. Closing it, or its end, releases the snapshot. If it is abandoned, the
 * snapshot is released when the iterator is garbage-collected.
 *
 * @param <T> the type of elements
 */
abstract class Iteration<T> implements CloseableIterator<T> {
    /** Null if the snapshot is released, or if there is none. */
    private ReadTransaction snapshot;

    private T next;
    private boolean hasEnded;

    /** An iterator that releases this snapshot at its end; it may be null. */
    Iteration(ReadTransaction snapshot) {
        this.snapshot = snapshot;
    }

    /** Returns the next element, or null at the end. */
    abstract T fetch();

    @Override
    public final boolean hasNext() {
        if (next == null && !hasEnded) {
            next = fetch();
            if (next == null) {
                close();
            }
        }
        return next != null;
    }

    @Override
    public final T next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        T element = next;
        next = null;
        return element;
    }

    @Override
    public void close() {
        hasEnded = true;
        next = null;
        if (snapshot != null) {
            snapshot.close();
            snapshot = null;
        }
    }
}
