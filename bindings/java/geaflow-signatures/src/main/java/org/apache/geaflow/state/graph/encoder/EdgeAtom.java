package org.apache.geaflow.state.graph.encoder;

import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.state.schema.GraphDataSchema;

/** A part of the key of an edge. */
public enum EdgeAtom {
    SRC_ID,
    DST_ID,
    TIME,
    DESC_TIME,
    DIRECTION,
    LABEL;

    public <K, EV> void setValue(IEdge<K, EV> edge, Object value, GraphDataSchema schema) {
        schema.set(edge, this, value);
    }
}
