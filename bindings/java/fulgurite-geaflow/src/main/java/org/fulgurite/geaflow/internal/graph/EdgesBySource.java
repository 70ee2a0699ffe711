package org.fulgurite.geaflow.internal.graph;

import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.state.pushdown.filter.FilterType;
import org.apache.geaflow.state.pushdown.filter.inner.IGraphFilter;
import org.fulgurite.geaflow.internal.slices.Bytes;
import org.fulgurite.geaflow.internal.slices.Entries;

/** A scan of edges, source by source. */
final class EdgesBySource<K, VV, EV> {
    /** So many edges of a source are read before the scan seeks the next source. */
    private static final int SKIPPED_MAX = 32;

    private final Entries entries;
    private final GraphCodec<K, VV, EV> codec;
    private final PushDown<K> pushDown;
    private final boolean keepsAll;

    /** The key of the entry that is read next; null if it is not fetched, or at the end. */
    private byte[] key;

    private boolean hasEnded;

    /** The source, and the key of one of its edges; null before the first one. */
    private K source;

    private byte[] sourceKey;
    private int sourceLength;

    /** The condition for the edges of the source. */
    private IGraphFilter filter;

    EdgesBySource(Entries entries, GraphCodec<K, VV, EV> codec, PushDown<K> pushDown) {
        this.entries = entries;
        this.codec = codec;
        this.pushDown = pushDown;
        keepsAll = !pushDown.hasLimit() && pushDown.filter().getFilterType() == FilterType.EMPTY;
    }

    /** Fetches an entry if there is none, and returns whether there is one. */
    private boolean fetch() {
        if (key == null && !hasEnded) {
            if (entries.next()) {
                key = entries.key();
            } else {
                hasEnded = true;
            }
        }
        return key != null;
    }

    private boolean isOfSource() {
        return sourceKey != null && Bytes.isSame(key, sourceKey, sourceLength);
    }

    /** Goes to the next source with edges, and returns whether there is one. The condition may keep none of its edges. */
    boolean nextSource() {
        for (int skipped = 0; fetch() && isOfSource(); skipped++) {
            key = null;
            if (skipped == SKIPPED_MAX) {
                byte[] after = Bytes.after(sourceKey, sourceLength);
                if (after == null) {
                    hasEnded = true;
                } else {
                    entries.seek(after);
                }
            }
        }
        if (key == null) {
            return false;
        }
        sourceLength = codec.beginningLength(key);
        sourceKey = key.clone();
        source = codec.id(key);
        filter = pushDown.limited(pushDown.filter());
        return true;
    }

    K source() {
        return source;
    }

    /** Compares the source with the key of a vertex. */
    int compareSource(byte[] vertex) {
        return Bytes.compare(sourceKey, sourceLength, vertex, vertex.length);
    }

    /** Returns the next edge of the source that the condition keeps; null if there is none. */
    IEdge<K, EV> nextOfSource() {
        while (sourceKey != null && !filter.dropAllRemaining() && fetch() && isOfSource()) {
            IEdge<K, EV> edge = codec.edge(source, key, entries.value());
            key = null;
            if (filter.filterEdge(edge)) {
                return edge;
            }
        }
        return null;
    }

    /** Returns how many edges of the source the condition keeps. The scan is then at the end of the source. */
    long countOfSource() {
        long count = 0;
        if (keepsAll) {
            for (; fetch() && isOfSource(); count++) {
                key = null;
            }
            return count;
        }
        while (nextOfSource() != null) {
            count++;
        }
        return count;
    }
}
