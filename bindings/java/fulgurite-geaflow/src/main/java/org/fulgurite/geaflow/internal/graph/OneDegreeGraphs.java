package org.fulgurite.geaflow.internal.graph;

import java.util.ArrayList;
import java.util.List;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.data.OneDegreeGraph;
import org.apache.geaflow.state.pushdown.filter.inner.IGraphFilter;
import org.fulgurite.ReadTransaction;
import org.fulgurite.geaflow.internal.shard.Shard;
import org.fulgurite.geaflow.internal.slices.Bytes;
import org.fulgurite.geaflow.internal.slices.Entries;

/** Vertices with their edges: a scan of vertices and one of edges, side by side. */
final class OneDegreeGraphs<K, VV, EV> extends Iteration<OneDegreeGraph<K, VV, EV>> {
    private final Entries vertices;
    private final EdgesBySource<K, VV, EV> edges;
    private final GraphCodec<K, VV, EV> codec;
    private final IGraphFilter filter;

    /** The vertex that is next, with its key; null at the end. */
    private IVertex<K, VV> vertex;

    private byte[] vertexKey;
    private boolean hasSource;

    OneDegreeGraphs(
            Shard shard,
            ReadTransaction snapshot,
            Entries vertices,
            EdgesBySource<K, VV, EV> edges,
            GraphCodec<K, VV, EV> codec,
            IGraphFilter filter) {
        super(shard, snapshot);
        this.vertices = vertices;
        this.edges = edges;
        this.codec = codec;
        this.filter = filter;
        nextVertex();
        hasSource = edges.nextSource();
    }

    /** Goes to the next vertex that the condition keeps. If an id has vertices in several partitions, one is taken. */
    private void nextVertex() {
        byte[] last = vertexKey;
        vertex = null;
        while (vertex == null && vertices.next()) {
            vertexKey = vertices.key();
            if (last == null || Bytes.compareWhole(vertexKey, last) != 0) {
                IVertex<K, VV> found = codec.vertex(vertexKey, vertices.value());
                vertex = filter.filterVertex(found) ? found : null;
            }
        }
    }

    @Override
    OneDegreeGraph<K, VV, EV> fetch() {
        while (vertex != null || hasSource) {
            OneDegreeGraph<K, VV, EV> graph = nextGraph();
            if (graph != null && filter.filterOneDegreeGraph(graph)) {
                return graph;
            }
        }
        return null;
    }

    /** Returns the graph of the lesser of the ids of the next vertex and the next source; null if it is empty. */
    private OneDegreeGraph<K, VV, EV> nextGraph() {
        int order = vertex == null ? -1 : hasSource ? edges.compareSource(vertexKey) : 1;
        IVertex<K, VV> ofGraph = order >= 0 ? vertex : null;
        List<IEdge<K, EV>> edgesOfGraph = new ArrayList<>();
        K id = ofGraph == null ? null : ofGraph.getId();
        if (order <= 0) {
            for (IEdge<K, EV> edge = edges.nextOfSource(); edge != null; edge = edges.nextOfSource()) {
                edgesOfGraph.add(edge);
                id = id == null ? edge.getSrcId() : id;
            }
            hasSource = edges.nextSource();
        }
        if (order >= 0) {
            nextVertex();
        }
        return id == null ? null : new OneDegreeGraph<>(id, ofGraph, GraphReads.iterator(edgesOfGraph));
    }
}
