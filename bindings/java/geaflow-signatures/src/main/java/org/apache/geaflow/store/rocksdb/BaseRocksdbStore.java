package org.apache.geaflow.store.rocksdb;

import org.apache.geaflow.store.IStatefulStore;
import org.apache.geaflow.store.api.graph.BaseGraphStore;
import org.apache.geaflow.store.context.StoreContext;

/** What GeaFlow's stores of RocksDB have in common. */
public abstract class BaseRocksdbStore extends BaseGraphStore implements IStatefulStore {
    @Override
    public void init(StoreContext context) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void archive(long checkpointId) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void recovery(long checkpointId) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long recoveryLatest() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void compact() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void flush() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void drop() {
        throw new UnsupportedOperationException();
    }
}
