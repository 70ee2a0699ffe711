package org.apache.geaflow.state.graph.encoder;

import org.apache.geaflow.common.tuple.Tuple;
import org.apache.geaflow.model.graph.edge.IEdge;

/** GeaFlow's own encoder of edges without values. */
public class EdgeKVEncoderWithoutValue<K, EV> implements IEdgeKVEncoder<K, EV> {
    private final IEdgeKVEncoder<K, EV> same;
    private final IBytesEncoder bytesEncoder;

    /** GeaFlow's constructor takes a schema. Tests give an encoder that does the same. */
    public EdgeKVEncoderWithoutValue(IEdgeKVEncoder<K, EV> same, IBytesEncoder bytesEncoder) {
        this.same = same;
        this.bytesEncoder = bytesEncoder;
    }

    public IBytesEncoder getBytesEncoder() {
        return bytesEncoder;
    }

    @Override
    public byte[] getScanBytes(K key) {
        return same.getScanBytes(key);
    }

    @Override
    public Tuple<byte[], byte[]> format(IEdge<K, EV> edge) {
        return same.format(edge);
    }

    @Override
    public IEdge<K, EV> getEdge(byte[] key, byte[] value) {
        return same.getEdge(key, value);
    }
}
