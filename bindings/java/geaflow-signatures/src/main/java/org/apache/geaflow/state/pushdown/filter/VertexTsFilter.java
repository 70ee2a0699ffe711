package org.apache.geaflow.state.pushdown.filter;

import org.apache.geaflow.model.graph.IGraphElementWithTimeField;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.data.DataType;
import org.apache.geaflow.state.data.TimeRange;

/** Times that are kept. */
public class VertexTsFilter<K, VV> implements IFilter<IVertex<K, VV>> {
    private static final long serialVersionUID = 1L;

    private final transient TimeRange timeRange;

    public VertexTsFilter(TimeRange timeRange) {
        this.timeRange = timeRange;
    }

    public TimeRange getTimeRange() {
        return timeRange;
    }

    @Override
    public boolean filter(IVertex<K, VV> value) {
        long time = ((IGraphElementWithTimeField) value).getTime();
        return timeRange.getStart() <= time && time < timeRange.getEnd();
    }

    @Override
    public DataType dateType() {
        return DataType.V;
    }

    @Override
    public FilterType getFilterType() {
        return FilterType.VERTEX_TS;
    }
}
