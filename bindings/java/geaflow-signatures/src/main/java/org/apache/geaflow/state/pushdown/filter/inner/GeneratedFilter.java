package org.apache.geaflow.state.pushdown.filter.inner;

import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.data.OneDegreeGraph;
import org.apache.geaflow.state.pushdown.filter.FilterType;

/** A condition that does not show what it is made of. GeaFlow compiles a class for each. */
@SuppressWarnings("rawtypes")
public final class GeneratedFilter extends BaseGraphFilter {
    private static final long serialVersionUID = 1L;

    private final IGraphFilter hidden;

    public GeneratedFilter(IGraphFilter hidden) {
        this.hidden = hidden;
    }

    @Override
    public boolean filterEdge(IEdge edge) {
        return hidden.filterEdge(edge);
    }

    @Override
    public boolean filterVertex(IVertex vertex) {
        return hidden.filterVertex(vertex);
    }

    @Override
    public boolean filterOneDegreeGraph(OneDegreeGraph graph) {
        return hidden.filterOneDegreeGraph(graph);
    }

    @Override
    public boolean dropAllRemaining() {
        return hidden.dropAllRemaining();
    }

    @Override
    public FilterType getFilterType() {
        return FilterType.GENERATED;
    }
}
