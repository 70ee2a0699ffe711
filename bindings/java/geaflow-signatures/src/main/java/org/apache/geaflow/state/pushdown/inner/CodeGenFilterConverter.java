package org.apache.geaflow.state.pushdown.inner;

import org.apache.geaflow.state.pushdown.filter.IFilter;
import org.apache.geaflow.state.pushdown.filter.inner.GraphFilter;

/** Compiles conditions. GeaFlow has the compiler. */
@SuppressWarnings("rawtypes")
public class CodeGenFilterConverter implements IFilterConverter {
    @Override
    public IFilter convert(IFilter origin) {
        return GraphFilter.of(origin);
    }
}
