package org.apache.geaflow.state.schema;

import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.state.graph.encoder.EdgeAtom;

/** The schema of a graph. GeaFlow's class makes all this of a description of the graph; tests extend this one. */
@SuppressWarnings("rawtypes")
public class GraphDataSchema {
    private final List<EdgeAtom> edgeAtoms;

    public GraphDataSchema(List<EdgeAtom> edgeAtoms) {
        this.edgeAtoms = edgeAtoms;
    }

    public List<EdgeAtom> getEdgeAtoms() {
        return edgeAtoms;
    }

    public boolean isEmptyEdgeProperty() {
        return false;
    }

    public Supplier<IEdge> getEdgeConsFun() {
        throw new UnsupportedOperationException();
    }

    public Function<byte[], Object> getEdgePropertyDeFun() {
        throw new UnsupportedOperationException();
    }

    /** Sets a field. GeaFlow does not have this: {@link EdgeAtom} does it there. */
    public void set(IEdge edge, EdgeAtom part, Object value) {
        throw new UnsupportedOperationException();
    }
}
