package org.apache.geaflow.state.data;

import org.apache.geaflow.common.iterator.CloseableIterator;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;

/** A vertex with its edges. */
public class OneDegreeGraph<K, VV, EV> {
    private final K key;
    private final IVertex<K, VV> vertex;
    private final CloseableIterator<IEdge<K, EV>> edges;

    public OneDegreeGraph(K key, IVertex<K, VV> vertex, CloseableIterator<IEdge<K, EV>> edgeIterator) {
        this.key = key;
        this.vertex = vertex;
        this.edges = edgeIterator;
    }

    public K getKey() {
        return key;
    }

    public IVertex<K, VV> getVertex() {
        return vertex;
    }

    public CloseableIterator<IEdge<K, EV>> getEdgeIterator() {
        return edges;
    }
}
