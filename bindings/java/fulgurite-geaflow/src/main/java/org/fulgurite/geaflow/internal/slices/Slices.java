package org.fulgurite.geaflow.internal.slices;

import java.util.List;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.pushdown.filter.inner.IGraphFilter;

/** The slices of the tables of vertices and edges. Keys begin with the slice they are in. */
public interface Slices {
    /** The tables of a shard. */
    int VERTICES = 0;

    int EDGES = 1;

    /** Returns the slice of a new vertex. */
    byte[] of(IVertex<?, ?> vertex);

    /** Returns the slice of a new edge. */
    byte[] of(IEdge<?, ?> edge);

    /** Returns the slices whose vertices the condition may keep. */
    List<byte[]> vertices(IGraphFilter filter);

    /** Returns the slices whose edges the condition may keep. */
    List<byte[]> edges(IGraphFilter filter);
}
