package org.apache.geaflow.state.graph;

import java.util.List;
import java.util.Map;
import org.apache.geaflow.common.iterator.CloseableIterator;
import org.apache.geaflow.common.tuple.Tuple;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.data.OneDegreeGraph;
import org.apache.geaflow.state.pushdown.IStatePushDown;

/** A graph. */
@SuppressWarnings("rawtypes")
public interface StaticGraphTrait<K, VV, EV> {
    void addEdge(IEdge<K, EV> edge);

    void addVertex(IVertex<K, VV> vertex);

    IVertex<K, VV> getVertex(K id, IStatePushDown pushDown);

    List<IEdge<K, EV>> getEdges(K id, IStatePushDown pushDown);

    OneDegreeGraph<K, VV, EV> getOneDegreeGraph(K id, IStatePushDown pushDown);

    CloseableIterator<K> vertexIDIterator(IStatePushDown pushDown);

    CloseableIterator<IVertex<K, VV>> getVertexIterator(IStatePushDown pushDown);

    CloseableIterator<IVertex<K, VV>> getVertexIterator(List<K> ids, IStatePushDown pushDown);

    CloseableIterator<IEdge<K, EV>> getEdgeIterator(IStatePushDown pushDown);

    CloseableIterator<IEdge<K, EV>> getEdgeIterator(List<K> ids, IStatePushDown pushDown);

    CloseableIterator<OneDegreeGraph<K, VV, EV>> getOneDegreeGraphIterator(IStatePushDown pushDown);

    CloseableIterator<OneDegreeGraph<K, VV, EV>> getOneDegreeGraphIterator(List<K> ids, IStatePushDown pushDown);

    CloseableIterator<K> vertexIDIterator();

    <R> CloseableIterator<Tuple<K, R>> getEdgeProjectIterator(IStatePushDown<K, IEdge<K, EV>, R> pushDown);

    <R> CloseableIterator<Tuple<K, R>> getEdgeProjectIterator(
            List<K> ids, IStatePushDown<K, IEdge<K, EV>, R> pushDown);

    Map<K, Long> getAggResult(IStatePushDown pushDown);

    Map<K, Long> getAggResult(List<K> ids, IStatePushDown pushDown);
}
