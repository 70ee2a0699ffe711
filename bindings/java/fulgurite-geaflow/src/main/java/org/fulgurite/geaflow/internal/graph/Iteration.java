package org.fulgurite.geaflow.internal.graph;

import java.util.NoSuchElementException;
import org.apache.geaflow.common.iterator.CloseableIterator;
import org.fulgurite.ReadTransaction;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.geaflow.internal.shard.Shard;

/**
 * An iterator over elements of a snapshot. Closing it, or its end, releases the snapshot. If it is abandoned, the
 * snapshot is released when the iterator is garbage-collected.
 *
 * @param <T> the type of elements
 */
abstract class Iteration<T> implements CloseableIterator<T> {
    /** The shard of the snapshot; null if there is none. */
    private final Shard shard;

    /** Null if the snapshot is released, or if there is none. */
    private ReadTransaction snapshot;

    private T next;
    private boolean hasEnded;

    /** An iterator without a snapshot. */
    Iteration() {
        this(null, null);
    }

    /** An iterator that releases this snapshot of a shard at its end. */
    Iteration(Shard shard, ReadTransaction snapshot) {
        this.shard = shard;
        this.snapshot = snapshot;
    }

    /** Returns the next element, or null at the end. */
    abstract T fetch();

    @Override
    public final boolean hasNext() {
        if (next == null && !hasEnded) {
            next = fetched();
            if (next == null) {
                close();
            }
        }
        return next != null;
    }

    private T fetched() {
        try {
            return fetch();
        } catch (FulguriteException failed) {
            throw shard == null ? failed : shard.ofJob(failed);
        }
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
