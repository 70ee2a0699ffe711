package org.fulgurite.geaflow.internal.keys;

import org.apache.geaflow.state.pushdown.inner.DirectFilterConverter;
import org.apache.geaflow.state.pushdown.inner.IFilterConverter;
import org.apache.geaflow.store.context.StoreContext;
import org.apache.geaflow.store.rocksdb.KVRocksdbStoreBase;

/**
 * A {@link KeyValueStore} as a store of GeaFlow's class for RocksDB, for programs that cast the store to that class. It
 * overrides every public method, so nothing of RocksDB is used or loaded.
 *
 * @param <K> the type of keys
 * @param <V> the type of values
 */
public final class RocksdbKeyValueStore<K, V> extends KVRocksdbStoreBase<K, V> {
    private final KeyValueStore<K, V> store = new KeyValueStore<>();

    /** Creates a store, which must be initialised. */
    public RocksdbKeyValueStore() {}

    @Override
    public void init(StoreContext context) {
        store.init(context);
    }

    /** GeaFlow's class inherits this from its stores of graphs. Values have no conditions. */
    @Override
    public IFilterConverter getFilterConverter() {
        return new DirectFilterConverter();
    }

    @Override
    public V get(K key) {
        return store.get(key);
    }

    @Override
    public void put(K key, V value) {
        store.put(key, value);
    }

    @Override
    public void remove(K key) {
        store.remove(key);
    }

    @Override
    public void flush() {
        store.flush();
    }

    @Override
    public void archive(long checkpointId) {
        store.archive(checkpointId);
    }

    @Override
    public void recovery(long checkpointId) {
        store.recovery(checkpointId);
    }

    @Override
    public long recoveryLatest() {
        return store.recoveryLatest();
    }

    @Override
    public void compact() {
        store.compact();
    }

    @Override
    public void close() {
        store.close();
    }

    @Override
    public void drop() {
        store.drop();
    }
}
