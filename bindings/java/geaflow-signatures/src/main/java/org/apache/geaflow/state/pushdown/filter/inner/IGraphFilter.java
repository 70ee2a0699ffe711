package org.apache.geaflow.state.pushdown.filter.inner;

import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.data.OneDegreeGraph;
import org.apache.geaflow.state.pushdown.filter.IFilter;

/** A condition on vertices, edges and one-degree graphs. */
@SuppressWarnings("rawtypes")
public interface IGraphFilter extends IFilter<Object> {
    boolean filterEdge(IEdge edge);

    boolean filterVertex(IVertex vertex);

    boolean filterOneDegreeGraph(OneDegreeGraph graph);

    boolean dropAllRemaining();

    default IFilter getFilter() {
        throw new UnsupportedOperationException();
    }
}
