package org.apache.geaflow.state.pushdown.filter;

import org.apache.geaflow.model.graph.IGraphElementWithTimeField;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.state.data.DataType;
import org.apache.geaflow.state.data.TimeRange;

/** Times that are kept. */
public class EdgeTsFilter<K, EV> implements IFilter<IEdge<K, EV>> {
    private static final long serialVersionUID = 1L;

    private final transient TimeRange timeRange;

    public EdgeTsFilter(TimeRange timeRange) {
        this.timeRange = timeRange;
    }

    public TimeRange getTimeRange() {
        return timeRange;
    }

    @Override
    public boolean filter(IEdge<K, EV> value) {
        long time = ((IGraphElementWithTimeField) value).getTime();
        return timeRange.getStart() <= time && time < timeRange.getEnd();
    }

    @Override
    public DataType dateType() {
        return DataType.E;
    }

    @Override
    public FilterType getFilterType() {
        return FilterType.EDGE_TS;
    }
}
