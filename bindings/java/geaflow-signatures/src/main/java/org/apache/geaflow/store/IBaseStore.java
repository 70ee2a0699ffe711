package org.apache.geaflow.store;

import org.apache.geaflow.store.context.StoreContext;

/** A store. */
public interface IBaseStore {
    void init(StoreContext context);

    void flush();

    void close();
}
