package org.apache.geaflow.state.graph.encoder;

/** GeaFlow's own: the parts, their lengths, and a byte. */
public class DefaultBytesEncoder implements IBytesEncoder {
    @Override
    public byte getMyMagicNumber() {
        return 1;
    }
}
