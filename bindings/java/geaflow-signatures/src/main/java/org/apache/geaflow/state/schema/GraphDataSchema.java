package org.apache.geaflow.state.schema;

import java.util.List;
import org.apache.geaflow.state.graph.encoder.EdgeAtom;

/** The schema of a graph. */
public class GraphDataSchema {
    private final List<EdgeAtom> edgeAtoms;

    /** GeaFlow's constructor takes a description of the graph. */
    public GraphDataSchema(List<EdgeAtom> edgeAtoms) {
        this.edgeAtoms = edgeAtoms;
    }

    public List<EdgeAtom> getEdgeAtoms() {
        return edgeAtoms;
    }
}
