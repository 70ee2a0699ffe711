package org.apache.geaflow.state.graph.encoder;

/** A part of the key of an edge. */
public enum EdgeAtom {
    SRC_ID,
    DST_ID,
    TIME,
    DESC_TIME,
    DIRECTION,
    LABEL
}
