package org.apache.geaflow.state.pushdown.inner;

import org.apache.geaflow.state.pushdown.filter.IFilter;
import org.apache.geaflow.state.pushdown.filter.inner.GraphFilter;

/** Wraps conditions. */
@SuppressWarnings("rawtypes")
public class DirectFilterConverter implements IFilterConverter {
    @Override
    public IFilter convert(IFilter origin) {
        return GraphFilter.of(origin);
    }
}
