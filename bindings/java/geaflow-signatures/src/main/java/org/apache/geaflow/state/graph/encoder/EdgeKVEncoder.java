package org.apache.geaflow.state.graph.encoder;

/** GeaFlow's own encoder of edges with values. */
public class EdgeKVEncoder<K, EV> extends EdgeKVEncoderWithoutValue<K, EV> {
    public EdgeKVEncoder(IEdgeKVEncoder<K, EV> same, IBytesEncoder bytesEncoder) {
        super(same, bytesEncoder);
    }
}
