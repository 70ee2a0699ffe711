package org.apache.geaflow.store.api.key;

import org.apache.geaflow.state.key.KeyListTrait;
import org.apache.geaflow.store.IBaseStore;

/** A store of a list for each key. */
public interface IKListStore<K, V> extends KeyListTrait<K, V>, IBaseStore {}
