package org.apache.geaflow.state.serializer;

import java.io.Serializable;

/** The bytes of keys. */
public interface IKeySerializer<K> extends Serializable {
    byte[] serializeKey(K key);

    K deserializeKey(byte[] bytes);
}
