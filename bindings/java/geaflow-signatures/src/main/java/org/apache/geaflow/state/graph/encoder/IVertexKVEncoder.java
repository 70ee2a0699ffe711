package org.apache.geaflow.state.graph.encoder;

import org.apache.geaflow.common.tuple.Tuple;
import org.apache.geaflow.model.graph.vertex.IVertex;

/** The bytes of vertices. */
public interface IVertexKVEncoder<K, VV> {
    Tuple<byte[], byte[]> format(IVertex<K, VV> vertex);

    IVertex<K, VV> getVertex(byte[] key, byte[] value);

    K getVertexID(byte[] key);
}
