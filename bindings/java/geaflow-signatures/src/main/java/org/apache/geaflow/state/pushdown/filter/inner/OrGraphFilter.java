package org.apache.geaflow.state.pushdown.filter.inner;

import java.util.List;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.data.OneDegreeGraph;
import org.apache.geaflow.state.pushdown.filter.FilterType;

/** One of several conditions. Without any, everything is kept. */
@SuppressWarnings("rawtypes")
public class OrGraphFilter extends BaseComposeGraphFilter {
    private static final long serialVersionUID = 1L;

    public OrGraphFilter(List<IGraphFilter> filters) {
        super(filters, FilterType.OR);
    }

    @Override
    IGraphFilter with(List<IGraphFilter> others) {
        return new OrGraphFilter(others);
    }

    @Override
    public boolean filterEdge(IEdge edge) {
        return filters.isEmpty() || filters.stream().anyMatch(filter -> filter.filterEdge(edge));
    }

    @Override
    public boolean filterVertex(IVertex vertex) {
        return filters.isEmpty() || filters.stream().anyMatch(filter -> filter.filterVertex(vertex));
    }

    @Override
    public boolean filterOneDegreeGraph(OneDegreeGraph graph) {
        return filters.isEmpty() || filters.stream().anyMatch(filter -> filter.filterOneDegreeGraph(graph));
    }
}
