package org.apache.geaflow.model.graph;

/** A vertex or an edge with a label. */
public interface IGraphElementWithLabelField {
    String getLabel();
}
