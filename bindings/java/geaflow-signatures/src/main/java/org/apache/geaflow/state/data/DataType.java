package org.apache.geaflow.state.data;

/** The part of a graph that a filter or a question is about. */
public enum DataType {
    V,
    E,
    VE,
    VID,
    V_TOPO,
    E_TOPO,
    VE_TOPO,
    PROJECT_FIELD,
    OTHER
}
