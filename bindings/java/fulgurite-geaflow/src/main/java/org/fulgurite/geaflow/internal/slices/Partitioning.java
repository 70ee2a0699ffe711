package org.fulgurite.geaflow.internal.slices;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Set;
import org.apache.geaflow.model.graph.IGraphElementWithLabelField;
import org.apache.geaflow.model.graph.IGraphElementWithTimeField;
import org.apache.geaflow.state.data.TimeRange;
import org.apache.geaflow.state.pushdown.filter.EdgeLabelFilter;
import org.apache.geaflow.state.pushdown.filter.EdgeTsFilter;
import org.apache.geaflow.state.pushdown.filter.IFilter;
import org.apache.geaflow.state.pushdown.filter.VertexLabelFilter;
import org.apache.geaflow.state.pushdown.filter.VertexTsFilter;
import org.fulgurite.geaflow.internal.keys.CompositeKeys;

/** What the partitions of vertices and of edges are made of. */
public interface Partitioning {
    /** Returns the slice of a vertex or an edge. */
    byte[] sliceOf(Object element);

    /** Returns the slice that a key begins with. */
    byte[] slice(byte[] key);

    /** Returns whether a condition on labels or times may keep an element of a slice. */
    boolean mayKeep(byte[] slice, IFilter<?> condition);

    /** Returns a description, which the file of a shard has. */
    @Override
    String toString();

    /** A partition for each label. An element without one is in the partition of the empty label. */
    final class ByLabel implements Partitioning {
        @Override
        public byte[] sliceOf(Object element) {
            String label = element instanceof IGraphElementWithLabelField
                    ? ((IGraphElementWithLabelField) element).getLabel()
                    : "";
            return CompositeKeys.prefix(label.getBytes(StandardCharsets.UTF_8));
        }

        @Override
        public byte[] slice(byte[] key) {
            return Arrays.copyOf(key, CompositeKeys.prefixLength(key));
        }

        @Override
        public boolean mayKeep(byte[] slice, IFilter<?> condition) {
            Set<String> labels = condition instanceof VertexLabelFilter
                    ? ((VertexLabelFilter<?, ?>) condition).getLabels()
                    : condition instanceof EdgeLabelFilter ? ((EdgeLabelFilter<?, ?>) condition).getLabels() : null;
            return labels == null
                    || labels.contains(new String(CompositeKeys.first(slice), StandardCharsets.UTF_8));
        }

        @Override
        public String toString() {
            return "label";
        }
    }

    /** A partition for each cycle of time, beginning at a start. An element without a time counts as of time 0. */
    final class ByTime implements Partitioning {
        private final long start;
        private final long cycle;

        ByTime(long start, long cycle) {
            this.start = start;
            this.cycle = cycle;
        }

        @Override
        public byte[] sliceOf(Object element) {
            long time = element instanceof IGraphElementWithTimeField
                    ? ((IGraphElementWithTimeField) element).getTime()
                    : 0;
            return ByteBuffer.allocate(Long.BYTES).putLong(number(time) ^ Long.MIN_VALUE).array();
        }

        /** The number of the cycle that a time is in. Times too far from the start share the last one. */
        private long number(long time) {
            long passed = time - start;
            boolean overflows = ((time ^ start) & (time ^ passed)) < 0;
            return Math.floorDiv(overflows ? time < 0 ? Long.MIN_VALUE : Long.MAX_VALUE : passed, cycle);
        }

        @Override
        public byte[] slice(byte[] key) {
            return Arrays.copyOf(key, Long.BYTES);
        }

        @Override
        public boolean mayKeep(byte[] slice, IFilter<?> condition) {
            TimeRange range = condition instanceof VertexTsFilter
                    ? ((VertexTsFilter<?, ?>) condition).getTimeRange()
                    : condition instanceof EdgeTsFilter ? ((EdgeTsFilter<?, ?>) condition).getTimeRange() : null;
            if (range == null) {
                return true;
            }
            long number = ByteBuffer.wrap(slice).getLong() ^ Long.MIN_VALUE;
            return range.getStart() < range.getEnd()
                    && number(range.getStart()) <= number
                    && number <= number(range.getEnd() - 1);
        }

        @Override
        public String toString() {
            return "dt from " + start + " by " + cycle;
        }
    }
}
