package org.apache.geaflow.store.api.graph;

import org.apache.geaflow.state.pushdown.inner.IFilterConverter;
import org.apache.geaflow.store.context.StoreContext;

/** What GeaFlow's stores of graphs have in common, and with them its stores of RocksDB. */
public abstract class BaseGraphStore implements IPushDownStore {
    public void init(StoreContext context) {
        throw new UnsupportedOperationException();
    }

    @Override
    public IFilterConverter getFilterConverter() {
        throw new UnsupportedOperationException();
    }
}
