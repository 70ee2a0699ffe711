package org.apache.geaflow.state.graph.encoder;

import org.apache.geaflow.common.type.IType;

/** The bytes of a graph. */
public interface IGraphKVEncoder<K, VV, EV> {
    IType<K> getKeyType();

    IVertexKVEncoder<K, VV> getVertexEncoder();

    IEdgeKVEncoder<K, EV> getEdgeEncoder();
}
