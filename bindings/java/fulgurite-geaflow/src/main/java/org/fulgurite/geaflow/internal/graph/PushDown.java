package org.fulgurite.geaflow.internal.graph;

import java.util.List;
import java.util.Map;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.apache.geaflow.state.graph.encoder.EdgeAtom;
import org.apache.geaflow.state.pushdown.IStatePushDown;
import org.apache.geaflow.state.pushdown.filter.FilterType;
import org.apache.geaflow.state.pushdown.filter.IFilter;
import org.apache.geaflow.state.pushdown.filter.inner.BaseComposeGraphFilter;
import org.apache.geaflow.state.pushdown.filter.inner.EmptyGraphFilter;
import org.apache.geaflow.state.pushdown.filter.inner.GraphFilter;
import org.apache.geaflow.state.pushdown.filter.inner.IGraphFilter;
import org.apache.geaflow.state.pushdown.limit.IEdgeLimit;

/** What GeaFlow pushes down to reads: conditions, and the largest number of edges of a source. */
final class PushDown<K> {
    private static final IGraphFilter KEEP_ALL = EmptyGraphFilter.of();

    private final IGraphFilter filter;

    /** A condition for each id; null if {@link #filter} is for all. */
    private final Map<K, IFilter<?>> filters;

    private final IEdgeLimit limit;

    private PushDown(IGraphFilter filter, Map<K, IFilter<?>> filters, IEdgeLimit limit) {
        this.filter = filter;
        this.filters = filters;
        this.limit = limit;
    }

    /** No conditions. */
    static <K> PushDown<K> none() {
        return new PushDown<>(KEEP_ALL, null, null);
    }

    /**
     * Reads GeaFlow's pushdown.
     *
     * @param given the pushdown, or null
     * @param order the parts of the keys of edges, in their order
     */
    @SuppressWarnings({"unchecked", "rawtypes"})
    static <K> PushDown<K> of(IStatePushDown given, List<EdgeAtom> order) {
        if (given == null) {
            return none();
        }
        checkOrder(given.getOrderFields(), order);
        return new PushDown<>(filter(given.getFilter()), given.getFilters(), given.getEdgeLimit());
    }

    /** Throws if a read wants another order of edges than that of their keys, the only one that scans have. */
    private static void checkOrder(List<EdgeAtom> wanted, List<EdgeAtom> order) {
        List<EdgeAtom> afterSource = order.subList(1, order.size());
        boolean isOrder = wanted == null
                || wanted.size() <= afterSource.size() && afterSource.subList(0, wanted.size()).equals(wanted);
        if (!isOrder) {
            throw new GeaflowRuntimeException("edges of a source are in the order of " + afterSource + ", not of "
                    + wanted + "; set geaflow.state.kv.encoder.edge.order");
        }
    }

    private static IGraphFilter filter(IFilter<?> given) {
        IGraphFilter filter = given == null ? KEEP_ALL : GraphFilter.of(given);
        return keepsAll(filter) ? KEEP_ALL : filter;
    }

    /**
     * Whether there is no condition, or a combination of none. GeaFlow's combination of no conditions keeps everything,
     * but its dropAllRemaining ends a read before the first edge.
     */
    private static boolean keepsAll(IGraphFilter filter) {
        return filter.getFilterType() == FilterType.EMPTY
                || filter instanceof BaseComposeGraphFilter
                        && ((BaseComposeGraphFilter) filter).getFilterList().stream().allMatch(PushDown::keepsAll);
    }

    /** The condition for all ids. */
    IGraphFilter filter() {
        return filter;
    }

    /** The condition for an id. */
    IGraphFilter filter(K id) {
        return filters == null ? filter : filter(filters.get(id));
    }

    boolean hasLimit() {
        return limit != null;
    }

    /** Returns a condition with the limit, for the edges of one source. */
    IGraphFilter limited(IGraphFilter condition) {
        return GraphFilter.of(condition, limit);
    }
}
