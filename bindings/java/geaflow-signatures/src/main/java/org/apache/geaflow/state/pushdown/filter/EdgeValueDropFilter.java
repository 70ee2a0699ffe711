package org.apache.geaflow.state.pushdown.filter;

import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.state.data.DataType;

/** Keeps everything, without values. */
public class EdgeValueDropFilter<K, EV> implements IFilter<IEdge<K, EV>> {
    private static final long serialVersionUID = 1L;

    @Override
    public boolean filter(IEdge<K, EV> value) {
        value.withValue(null);
        return true;
    }

    @Override
    public DataType dateType() {
        return DataType.E;
    }

    @Override
    public FilterType getFilterType() {
        return FilterType.EDGE_VALUE_DROP;
    }
}
