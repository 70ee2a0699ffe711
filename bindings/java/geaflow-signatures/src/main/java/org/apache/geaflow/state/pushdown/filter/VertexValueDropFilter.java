package org.apache.geaflow.state.pushdown.filter;

import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.data.DataType;

/** Keeps everything, without values. */
public class VertexValueDropFilter<K, VV> implements IFilter<IVertex<K, VV>> {
    private static final long serialVersionUID = 1L;

    @Override
    public boolean filter(IVertex<K, VV> value) {
        value.withValue(null);
        return true;
    }

    @Override
    public DataType dateType() {
        return DataType.V;
    }

    @Override
    public FilterType getFilterType() {
        return FilterType.VERTEX_VALUE_DROP;
    }
}
