package org.apache.geaflow.state.pushdown.filter.inner;

import java.util.List;
import org.apache.geaflow.state.pushdown.filter.FilterType;

/** A condition of several. */
public abstract class BaseComposeGraphFilter extends BaseGraphFilter {
    private static final long serialVersionUID = 1L;

    final List<IGraphFilter> filters;
    private final FilterType type;

    BaseComposeGraphFilter(List<IGraphFilter> filters, FilterType type) {
        this.filters = filters;
        this.type = type;
    }

    public List<IGraphFilter> getFilterList() {
        return filters;
    }

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
