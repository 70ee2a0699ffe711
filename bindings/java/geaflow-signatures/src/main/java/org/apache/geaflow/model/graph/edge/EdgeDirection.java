package org.apache.geaflow.model.graph.edge;

/** The direction of an edge, as its source sees it. */
public enum EdgeDirection {
    OUT,
    IN,
    BOTH,
    NONE
}
