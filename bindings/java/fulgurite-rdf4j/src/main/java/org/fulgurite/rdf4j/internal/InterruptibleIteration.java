package org.fulgurite.rdf4j.internal;

import java.util.NoSuchElementException;
import java.util.function.Function;
import org.eclipse.rdf4j.common.iteration.CloseableIteration;

/**
 * The outermost iteration of a connection. If a thread is interrupted, iterations of RDF4J end as if there were no more
 * elements, so a sum or a group may lack some. Here this is an exception. The thread stays interrupted.
 */
public final class InterruptibleIteration<T> implements CloseableIteration<T> {
    private final CloseableIteration<? extends T> source;
    private final Function<String, ? extends RuntimeException> whenInterrupted;

    /** Whether the end was reported, or the iteration was closed. */
    private volatile boolean isEnded;

    /**
     * Creates an iteration.
     *
     * @param source the elements
     * @param whenInterrupted makes the exception that ends the iteration if its thread is interrupted
     */
    public InterruptibleIteration(
            CloseableIteration<? extends T> source, Function<String, ? extends RuntimeException> whenInterrupted) {
        this.source = source;
        this.whenInterrupted = whenInterrupted;
    }

    @Override
    public boolean hasNext() {
        if (isEnded) {
            return false;
        }
        boolean hasNext = source.hasNext();
        checkInterrupt();
        if (!hasNext) {
            isEnded = true;
        }
        return hasNext;
    }

    @Override
    public T next() {
        try {
            T element = source.next();
            checkInterrupt();
            return element;
        } catch (NoSuchElementException end) {
            checkInterrupt();
            throw end;
        }
    }

    private void checkInterrupt() {
        if (!isEnded && Thread.currentThread().isInterrupted()) {
            close();
            Interrupts.check(whenInterrupted);
        }
    }

    @Override
    public void remove() {
        source.remove();
    }

    @Override
    public void close() {
        isEnded = true;
        source.close();
    }
}
