package org.apache.geaflow.state.graph.encoder;

/** How the parts of a key or value become one byte string. */
public interface IBytesEncoder {
    byte getMyMagicNumber();
}
