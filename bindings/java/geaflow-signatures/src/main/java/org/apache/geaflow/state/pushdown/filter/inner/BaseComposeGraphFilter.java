package org.apache.geaflow.state.pushdown.filter.inner;

import java.util.List;
import java.util.stream.Collectors;
import org.apache.geaflow.state.pushdown.filter.FilterType;
import org.apache.geaflow.state.pushdown.limit.IEdgeLimit;

/** A condition of several. */
public abstract class BaseComposeGraphFilter extends BaseGraphFilter {
    private static final long serialVersionUID = 1L;

    final List<IGraphFilter> filters;
    private final FilterType type;
    private boolean isSingleLimit;

    BaseComposeGraphFilter(List<IGraphFilter> filters, FilterType type) {
        this.filters = filters;
        this.type = type;
    }

    public List<IGraphFilter> getFilterList() {
        return filters;
    }

    /** Has the limit of a read hold for each of the conditions, and not for all together. */
    public IGraphFilter singleLimit() {
        isSingleLimit = true;
        return this;
    }

    /** The condition with the limit of a read. */
    IGraphFilter limited(IEdgeLimit limit) {
        if (!isSingleLimit) {
            return new LimitFilter(this, limit);
        }
        return with(filters.stream()
                .<IGraphFilter>map(filter -> new LimitFilter(filter, limit))
                .collect(Collectors.toList()));
    }

    /** A condition of the same kind. */
    abstract IGraphFilter with(List<IGraphFilter> others);

    /** As in GeaFlow, also without conditions. */
    @Override
    public boolean dropAllRemaining() {
        return filters.stream().allMatch(IGraphFilter::dropAllRemaining);
    }

    @Override
    public FilterType getFilterType() {
        return type;
    }
}
