package org.apache.geaflow.store.api.key;

import org.apache.geaflow.state.key.KeyMapTrait;
import org.apache.geaflow.store.IBaseStore;

/** A store of a map for each key. */
public interface IKMapStore<K, UK, UV> extends KeyMapTrait<K, UK, UV>, IBaseStore {}
