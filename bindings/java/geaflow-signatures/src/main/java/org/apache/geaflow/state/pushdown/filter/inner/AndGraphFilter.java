package org.apache.geaflow.state.pushdown.filter.inner;

import java.util.List;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.data.OneDegreeGraph;
import org.apache.geaflow.state.pushdown.filter.FilterType;

/** All of several conditions. */
@SuppressWarnings("rawtypes")
public class AndGraphFilter extends BaseComposeGraphFilter {
    private static final long serialVersionUID = 1L;

    public AndGraphFilter(List<IGraphFilter> filters) {
        super(filters, FilterType.AND);
    }

    @Override
    IGraphFilter with(List<IGraphFilter> others) {
        return new AndGraphFilter(others);
    }

    @Override
    public boolean filterEdge(IEdge edge) {
        return filters.stream().allMatch(filter -> filter.filterEdge(edge));
    }

    @Override
    public boolean filterVertex(IVertex vertex) {
        return filters.stream().allMatch(filter -> filter.filterVertex(vertex));
    }

    @Override
    public boolean filterOneDegreeGraph(OneDegreeGraph graph) {
        return filters.stream().allMatch(filter -> filter.filterOneDegreeGraph(graph));
    }
}
