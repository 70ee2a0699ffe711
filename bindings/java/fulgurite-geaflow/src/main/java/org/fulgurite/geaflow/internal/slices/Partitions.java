package org.fulgurite.geaflow.internal.slices;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.stream.Collectors;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.pushdown.filter.inner.BaseComposeGraphFilter;
import org.apache.geaflow.state.pushdown.filter.inner.IGraphFilter;
import org.fulgurite.Cursor;
import org.fulgurite.KeyRange;
import org.fulgurite.Transaction;
import org.fulgurite.geaflow.internal.shard.Shard;

/** A slice for each partition. Reads with conditions on what partitions are made of go to the partitions they need. */
public final class Partitions implements Slices {
    private static final Comparator<byte[]> ORDER = Bytes::compareWhole;

    private final Partitioning partitioning;
    private final Set<byte[]> vertices;
    private final Set<byte[]> edges;

    /** The partitions that the tables of a shard have. */
    public Partitions(Partitioning partitioning, Shard shard) {
        this.partitioning = partitioning;
        vertices = shard.read(transaction -> found(transaction, shard, VERTICES));
        edges = shard.read(transaction -> found(transaction, shard, EDGES));
    }

    /** Reads the first key of each partition. */
    private Set<byte[]> found(Transaction transaction, Shard shard, int table) {
        Set<byte[]> found = new ConcurrentSkipListSet<>(ORDER);
        try (Cursor cursor = transaction.scan(shard.table(table), KeyRange.all())) {
            while (cursor.next()) {
                byte[] slice = partitioning.slice(cursor.key());
                found.add(slice);
                byte[] after = Bytes.after(slice, slice.length);
                if (after == null) {
                    break;
                }
                cursor.seek(after);
            }
        }
        return found;
    }

    @Override
    public byte[] of(IVertex<?, ?> vertex) {
        return known(partitioning.sliceOf(vertex), vertices);
    }

    @Override
    public byte[] of(IEdge<?, ?> edge) {
        return known(partitioning.sliceOf(edge), edges);
    }

    private static byte[] known(byte[] slice, Set<byte[]> all) {
        all.add(slice);
        return slice;
    }

    @Override
    public List<byte[]> vertices(IGraphFilter filter) {
        return kept(vertices, filter, true);
    }

    @Override
    public List<byte[]> edges(IGraphFilter filter) {
        return kept(edges, filter, false);
    }

    private List<byte[]> kept(Collection<byte[]> all, IGraphFilter filter, boolean areVertices) {
        return all.stream().filter(slice -> mayKeep(slice, filter, areVertices)).collect(Collectors.toList());
    }

    /** Whether a condition may keep an element of a partition. Compiled conditions may keep any. */
    private boolean mayKeep(byte[] slice, IGraphFilter filter, boolean areVertices) {
        switch (filter.getFilterType()) {
            case AND:
                return ((BaseComposeGraphFilter) filter)
                        .getFilterList().stream().allMatch(part -> mayKeep(slice, part, areVertices));
            case OR:
                List<IGraphFilter> parts = ((BaseComposeGraphFilter) filter).getFilterList();
                // Without parts, GeaFlow's condition keeps everything.
                return parts.isEmpty() || parts.stream().anyMatch(part -> mayKeep(slice, part, areVertices));
            case VERTEX_LABEL:
            case VERTEX_TS:
                return !areVertices || partitioning.mayKeep(slice, filter.getFilter());
            case EDGE_LABEL:
            case EDGE_TS:
                return areVertices || partitioning.mayKeep(slice, filter.getFilter());
            default:
                return true;
        }
    }
}
