package org.apache.geaflow.model.graph;

/** A vertex or an edge with a time. */
public interface IGraphElementWithTimeField {
    long getTime();
}
