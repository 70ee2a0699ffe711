package org.apache.geaflow.state.pushdown.filter.inner;

import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.data.DataType;
import org.apache.geaflow.state.data.OneDegreeGraph;
import org.apache.geaflow.state.pushdown.filter.FilterType;
import org.apache.geaflow.state.pushdown.filter.IFilter;
import org.apache.geaflow.state.pushdown.limit.IEdgeLimit;

/** A condition on one kind of element. */
@SuppressWarnings({"rawtypes", "unchecked"})
public final class GraphFilter extends BaseGraphFilter {
    private static final long serialVersionUID = 1L;

    private final IFilter filter;

    private GraphFilter(IFilter filter) {
        this.filter = filter;
    }

    public static IGraphFilter of(IFilter filter) {
        return filter instanceof IGraphFilter ? (IGraphFilter) filter : new GraphFilter(filter);
    }

    public static IGraphFilter of(IFilter filter, IEdgeLimit limit) {
        IGraphFilter graphFilter = of(filter);
        if (limit == null) {
            return graphFilter;
        }
        return graphFilter instanceof BaseComposeGraphFilter
                ? ((BaseComposeGraphFilter) graphFilter).limited(limit)
                : new LimitFilter(graphFilter, limit);
    }

    @Override
    public boolean filterEdge(IEdge edge) {
        return filter.dateType() != DataType.E || filter.filter(edge);
    }

    @Override
    public boolean filterVertex(IVertex vertex) {
        return filter.dateType() != DataType.V || filter.filter(vertex);
    }

    @Override
    public boolean filterOneDegreeGraph(OneDegreeGraph graph) {
        return filter.dateType() != DataType.VE || filter.filter(graph);
    }

    @Override
    public FilterType getFilterType() {
        return filter.getFilterType();
    }

    @Override
    public IFilter getFilter() {
        return filter;
    }
}
