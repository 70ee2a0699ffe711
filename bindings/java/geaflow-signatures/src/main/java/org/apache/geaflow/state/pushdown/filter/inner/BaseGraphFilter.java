package org.apache.geaflow.state.pushdown.filter.inner;

import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.data.DataType;
import org.apache.geaflow.state.data.OneDegreeGraph;

/** A condition that keeps everything. */
@SuppressWarnings("rawtypes")
public abstract class BaseGraphFilter implements IGraphFilter {
    private static final long serialVersionUID = 1L;

    @Override
    public boolean filter(Object value) {
        throw new UnsupportedOperationException();
    }

    @Override
    public DataType dateType() {
        return DataType.OTHER;
    }

    @Override
    public boolean filterEdge(IEdge edge) {
        return true;
    }

    @Override
    public boolean filterVertex(IVertex vertex) {
        return true;
    }

    @Override
    public boolean filterOneDegreeGraph(OneDegreeGraph graph) {
        return true;
    }

    @Override
    public boolean dropAllRemaining() {
        return false;
    }
}
