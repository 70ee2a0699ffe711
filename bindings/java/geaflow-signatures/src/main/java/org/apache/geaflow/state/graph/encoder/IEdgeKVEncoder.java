package org.apache.geaflow.state.graph.encoder;

import org.apache.geaflow.common.tuple.Tuple;
import org.apache.geaflow.model.graph.edge.IEdge;

/** The bytes of edges. */
public interface IEdgeKVEncoder<K, EV> {
    byte[] getScanBytes(K key);

    Tuple<byte[], byte[]> format(IEdge<K, EV> edge);

    IEdge<K, EV> getEdge(byte[] key, byte[] value);
}
