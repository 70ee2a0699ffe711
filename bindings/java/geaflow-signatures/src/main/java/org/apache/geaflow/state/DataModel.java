package org.apache.geaflow.state;

/** What a store stores. */
public enum DataModel {
    STATIC_GRAPH,
    DYNAMIC_GRAPH,
    KV,
    KMap,
    KList
}
