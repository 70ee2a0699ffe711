package org.fulgurite.geaflow.internal.slices;

import java.util.Collections;
import java.util.List;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.pushdown.filter.inner.IGraphFilter;

/** One slice with all elements: the whole table, or those of a version. */
public final class WholeSlice implements Slices {
    private final List<byte[]> slice;

    public WholeSlice(byte[] slice) {
        this.slice = Collections.singletonList(slice);
    }

    @Override
    public byte[] of(IVertex<?, ?> vertex) {
        return slice.get(0);
    }

    @Override
    public byte[] of(IEdge<?, ?> edge) {
        return slice.get(0);
    }

    @Override
    public List<byte[]> vertices(IGraphFilter filter) {
        return slice;
    }

    @Override
    public List<byte[]> edges(IGraphFilter filter) {
        return slice;
    }
}
