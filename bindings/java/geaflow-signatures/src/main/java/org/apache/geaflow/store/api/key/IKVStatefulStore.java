package org.apache.geaflow.store.api.key;

import org.apache.geaflow.store.IStatefulStore;

/** A store of a value for each key, with checkpoints. */
public interface IKVStatefulStore<K, V> extends IKVStore<K, V>, IStatefulStore {}
