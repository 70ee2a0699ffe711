package org.apache.geaflow.state.pushdown.filter.inner;

import org.apache.geaflow.model.graph.edge.EdgeDirection;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.data.OneDegreeGraph;
import org.apache.geaflow.state.pushdown.limit.IEdgeLimit;

/** A condition that keeps a number of edges of each direction. */
@SuppressWarnings("rawtypes")
final class LimitFilter extends BaseGraphFilter {
    private static final long serialVersionUID = 1L;

    private final IGraphFilter filter;
    private long out;
    private long in;

    LimitFilter(IGraphFilter filter, IEdgeLimit limit) {
        this.filter = filter;
        this.out = limit.outEdgeLimit();
        this.in = limit.inEdgeLimit();
    }

    @Override
    public boolean filterEdge(IEdge edge) {
        if (!filter.filterEdge(edge)) {
            return false;
        }
        return edge.getDirect() == EdgeDirection.OUT ? out-- > 0 : in-- > 0;
    }

    @Override
    public boolean filterVertex(IVertex vertex) {
        return filter.filterVertex(vertex);
    }

    @Override
    public boolean filterOneDegreeGraph(OneDegreeGraph graph) {
        return filter.filterOneDegreeGraph(graph);
    }

    @Override
    public boolean dropAllRemaining() {
        return out <= 0 && in <= 0;
    }
}
