package org.apache.geaflow.state.serializer;

/** The bytes of keys, and of the keys and values of their maps. */
public interface IKMapSerializer<K, UK, UV> extends IKeySerializer<K> {
    byte[] serializeUK(UK key);

    UK deserializeUK(byte[] bytes);

    byte[] serializeUV(UV value);

    UV deserializeUV(byte[] bytes);
}
