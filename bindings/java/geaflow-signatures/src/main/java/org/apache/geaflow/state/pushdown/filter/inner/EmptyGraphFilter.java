package org.apache.geaflow.state.pushdown.filter.inner;

import org.apache.geaflow.state.pushdown.filter.FilterType;

/** No condition. */
public final class EmptyGraphFilter extends BaseGraphFilter {
    private static final long serialVersionUID = 1L;
    private static final EmptyGraphFilter FILTER = new EmptyGraphFilter();

    public static EmptyGraphFilter of() {
        return FILTER;
    }

    @Override
    public FilterType getFilterType() {
        return FilterType.EMPTY;
    }
}
