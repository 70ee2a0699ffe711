package org.apache.geaflow.store.api.key;

import org.apache.geaflow.state.key.KeyValueTrait;
import org.apache.geaflow.store.IBaseStore;

/** A store of a value for each key. */
public interface IKVStore<K, V> extends KeyValueTrait<K, V>, IBaseStore {}
