package org.fulgurite.rdf4j;

import org.eclipse.rdf4j.common.iteration.CloseableIteration;

/** An iteration that closes its view when it ends or is closed. */
final class ClosingIteration<T> implements CloseableIteration<T> {
    private final CloseableIteration<? extends T> source;
    private final StoreView view;

    ClosingIteration(CloseableIteration<? extends T> source, StoreView view) {
        this.source = source;
        this.view = view;
    }

    @Override
    public boolean hasNext() {
        if (source.hasNext()) {
            return true;
        }
        close();
        return false;
    }

    @Override
    public T next() {
        return source.next();
    }

    @Override
    public void remove() {
        source.remove();
    }

    @Override
    public void close() {
        try {
            source.close();
        } finally {
            view.close();
        }
    }
}
