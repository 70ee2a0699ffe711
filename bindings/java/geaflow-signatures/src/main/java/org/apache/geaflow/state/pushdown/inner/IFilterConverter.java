package org.apache.geaflow.state.pushdown.inner;

import org.apache.geaflow.state.pushdown.filter.IFilter;

/** Converts conditions of users. */
@SuppressWarnings("rawtypes")
public interface IFilterConverter {
    IFilter convert(IFilter origin);
}
