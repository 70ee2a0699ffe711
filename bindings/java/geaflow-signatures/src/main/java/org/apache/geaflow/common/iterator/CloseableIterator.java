package org.apache.geaflow.common.iterator;

import java.util.Iterator;

/** An iterator that holds resources. */
public interface CloseableIterator<T> extends Iterator<T>, AutoCloseable {
    @Override
    void close();
}
