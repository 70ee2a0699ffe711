package org.apache.geaflow.state.pushdown.filter;

/** The kind of a filter. */
public enum FilterType {
    EMPTY,
    IN_EDGE,
    OUT_EDGE,
    EDGE_TS,
    TTL,
    OR,
    AND,
    ONLY_VERTEX,
    VERTEX_TS,
    EDGE_VALUE_DROP,
    VERTEX_VALUE_DROP,
    EDGE_LABEL,
    VERTEX_LABEL,
    VERTEX_MUST_CONTAIN,
    GENERATED,
    OTHER
}
