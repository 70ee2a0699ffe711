package org.fulgurite.rdf4j;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.NoSuchElementException;
import org.eclipse.rdf4j.common.iteration.CloseableIteration;

/**
 * An iteration over a transaction's view. Before the transaction makes a change, the rest of the iteration is read into
 * memory, so that its result is of one state.
 */
final class DetachableIteration<T> implements CloseableIteration<T> {
    private final CloseableIteration<? extends T> source;
    private final FulguriteStoreConnection connection;
    private Deque<T> rest;
    private RuntimeException failure;
    private volatile boolean isClosed;

    DetachableIteration(CloseableIteration<? extends T> source, FulguriteStoreConnection connection) {
        this.source = source;
        this.connection = connection;
    }

    @Override
    public synchronized boolean hasNext() {
        if (isClosed) {
            return false;
        }
        if (rest == null) {
            return source.hasNext();
        }
        if (rest.isEmpty() && failure != null) {
            throw failure;
        }
        return !rest.isEmpty();
    }

    @Override
    public synchronized T next() {
        if (!hasNext()) {
            throw new NoSuchElementException(isClosed ? "the iteration is closed" : "there are no more elements");
        }
        return rest == null ? source.next() : rest.removeFirst();
    }

    /** Reads the rest into memory. An error is thrown when the iteration comes to its place. */
    synchronized void detach() {
        if (isClosed || rest != null) {
            return;
        }
        Deque<T> read = new ArrayDeque<>();
        try {
            while (source.hasNext()) {
                read.addLast(source.next());
            }
        } catch (RuntimeException error) {
            failure = error;
        }
        rest = read;
        source.close();
    }

    @Override
    public void remove() {
        throw new UnsupportedOperationException("statements are removed by a connection");
    }

    @Override
    public void close() {
        isClosed = true;
        connection.forget(this);
        source.close();
        synchronized (this) {
            rest = null;
        }
    }
}
