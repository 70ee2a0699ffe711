package org.apache.geaflow.store.rocksdb;

import org.apache.geaflow.store.api.key.IKVStatefulStore;

/** GeaFlow's store of a value for each key in RocksDB. */
public class KVRocksdbStoreBase<K, V> extends BaseRocksdbStore implements IKVStatefulStore<K, V> {
    @Override
    public V get(K key) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void put(K key, V value) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void remove(K key) {
        throw new UnsupportedOperationException();
    }
}
