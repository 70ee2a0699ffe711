package org.apache.geaflow.state.pushdown.inner;

import org.apache.geaflow.state.pushdown.filter.IFilter;
import org.apache.geaflow.state.pushdown.filter.inner.GeneratedFilter;
import org.apache.geaflow.state.pushdown.filter.inner.GraphFilter;

/** Compiles conditions. GeaFlow has the compiler; here the condition is only hidden, as in a compiled one. */
@SuppressWarnings("rawtypes")
public class CodeGenFilterConverter implements IFilterConverter {
    @Override
    public IFilter convert(IFilter origin) {
        return new GeneratedFilter(GraphFilter.of(origin));
    }
}
