package org.fulgurite.rdf4j;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.NoSuchElementException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.eclipse.rdf4j.common.iteration.CloseableIteration;
import org.eclipse.rdf4j.query.QueryInterruptedException;
import org.eclipse.rdf4j.sail.InterruptedSailException;
import org.fulgurite.rdf4j.internal.Interrupts;

/**
 * A result that reads a view, and closes it at its end.
 *
 * <p>RDF4J's iterations are for one thread, and results are closed from others, for example after a time-out. So closing
 * only closes the view, which ends a running read soon, and leaves the iterations to the thread that reads them.
 *
 * <p>Before a transaction makes a change, it {@linkplain #detach detaches} its results: their rest is read into memory,
 * so that each result is of one state.
 */
final class ResultIteration<T> implements CloseableIteration<T> {
    private final CloseableIteration<? extends T> source;
    private final StoreView view;
    private final boolean isOfQuery;
    private final Runnable whenClosed;
    private final ReentrantLock reading = new ReentrantLock();
    private volatile boolean isClosed;

    /** What was read into memory; null before. */
    private Deque<T> rest;

    /** The error after {@link #rest}. */
    private RuntimeException failure;

    private boolean isSourceClosed;

    ResultIteration(
            CloseableIteration<? extends T> source, StoreView view, boolean isOfQuery, Runnable whenClosed) {
        this.source = source;
        this.view = view;
        this.isOfQuery = isOfQuery;
        this.whenClosed = whenClosed;
    }

    /** Returns the constructor of the exception that ends the result if its thread is interrupted. */
    Function<String, ? extends RuntimeException> whenInterrupted() {
        return isOfQuery ? QueryInterruptedException::new : InterruptedSailException::new;
    }

    @Override
    public boolean hasNext() {
        try {
            return read(() -> {
                if (rest == null) {
                    return source.hasNext();
                }
                if (rest.isEmpty() && failure != null) {
                    throw failure;
                }
                return !rest.isEmpty();
            });
        } catch (NoSuchElementException closed) {
            // RDF4J looks for a time-out after this.
            return false;
        }
    }

    @Override
    public T next() {
        return read(() -> {
            if (rest == null) {
                return source.next();
            }
            if (rest.isEmpty()) {
                throw failure == null ? new NoSuchElementException("there are no more elements") : failure;
            }
            return rest.removeFirst();
        });
    }

    private interface Reading<R> {
        R read();
    }

    private <R> R read(Reading<R> call) {
        reading.lock();
        try {
            if (isClosed) {
                return closedResult(null);
            }
            R result = call.read();
            if (Boolean.FALSE.equals(result)) {
                close();
            }
            return result;
        } catch (RuntimeException error) {
            return isClosed ? closedResult(error) : fail(error);
        } finally {
            if (isClosed) {
                closeSource();
            }
            reading.unlock();
        }
    }

    private static <R> R fail(RuntimeException error) {
        throw error;
    }

    /** The end of a read of a closed result, as in RDF4J's iterations. */
    private static <R> R closedResult(RuntimeException cause) {
        NoSuchElementException closed = new NoSuchElementException("the result is closed");
        closed.initCause(cause);
        throw closed;
    }

    /** Reads the rest into memory. */
    void detach() {
        reading.lock();
        try {
            if (isClosed || rest != null) {
                return;
            }
            Deque<T> read = new ArrayDeque<>();
            try {
                while (source.hasNext()) {
                    read.addLast(source.next());
                }
                if (isOfQuery) {
                    // RDF4J's iterations end early if the thread is interrupted. Those of statements do not.
                    Interrupts.check(whenInterrupted());
                }
            } catch (RuntimeException error) {
                failure = error;
            }
            rest = read;
            closeSource();
            view.close();
        } finally {
            reading.unlock();
        }
    }

    private void closeSource() {
        if (!isSourceClosed) {
            isSourceClosed = true;
            source.close();
        }
    }

    @Override
    public void remove() {
        throw new UnsupportedOperationException("statements are removed by a connection");
    }

    @Override
    public void close() {
        isClosed = true;
        whenClosed.run();
        view.close();
        if (reading.tryLock()) {
            try {
                closeSource();
            } finally {
                reading.unlock();
            }
        }
    }
}
