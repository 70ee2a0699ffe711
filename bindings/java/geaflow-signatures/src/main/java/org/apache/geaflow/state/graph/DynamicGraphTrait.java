package org.apache.geaflow.state.graph;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.geaflow.common.iterator.CloseableIterator;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.data.DataType;
import org.apache.geaflow.state.data.OneDegreeGraph;
import org.apache.geaflow.state.pushdown.IStatePushDown;

/** A graph with versions. */
@SuppressWarnings("rawtypes")
public interface DynamicGraphTrait<K, VV, EV> {
    void addEdge(long version, IEdge<K, EV> edge);

    void addVertex(long version, IVertex<K, VV> vertex);

    IVertex<K, VV> getVertex(long version, K id, IStatePushDown pushDown);

    List<IEdge<K, EV>> getEdges(long version, K id, IStatePushDown pushDown);

    OneDegreeGraph<K, VV, EV> getOneDegreeGraph(long version, K id, IStatePushDown pushDown);

    CloseableIterator<K> vertexIDIterator(long version, IStatePushDown pushDown);

    CloseableIterator<IVertex<K, VV>> getVertexIterator(long version, IStatePushDown pushDown);

    CloseableIterator<IVertex<K, VV>> getVertexIterator(long version, List<K> ids, IStatePushDown pushDown);

    CloseableIterator<IEdge<K, EV>> getEdgeIterator(long version, IStatePushDown pushDown);

    CloseableIterator<IEdge<K, EV>> getEdgeIterator(long version, List<K> ids, IStatePushDown pushDown);

    CloseableIterator<OneDegreeGraph<K, VV, EV>> getOneDegreeGraphIterator(long version, IStatePushDown pushDown);

    CloseableIterator<OneDegreeGraph<K, VV, EV>> getOneDegreeGraphIterator(
            long version, List<K> ids, IStatePushDown pushDown);

    CloseableIterator<K> vertexIDIterator();

    List<Long> getAllVersions(K id, DataType dataType);

    long getLatestVersion(K id, DataType dataType);

    Map<Long, IVertex<K, VV>> getAllVersionData(K id, IStatePushDown pushDown, DataType dataType);

    Map<Long, IVertex<K, VV>> getVersionData(
            K id, Collection<Long> versions, IStatePushDown pushDown, DataType dataType);
}
