package org.apache.geaflow.state.pushdown.filter;

import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import org.apache.geaflow.model.graph.IGraphElementWithLabelField;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.state.data.DataType;

/** Labels that are kept. */
public class EdgeLabelFilter<K, EV> implements IFilter<IEdge<K, EV>> {
    private static final long serialVersionUID = 1L;

    private final Set<String> labels;

    public EdgeLabelFilter(Collection<String> labels) {
        this.labels = new HashSet<>(labels);
    }

    public Set<String> getLabels() {
        return labels;
    }

    @Override
    public boolean filter(IEdge<K, EV> value) {
        return labels.contains(((IGraphElementWithLabelField) value).getLabel());
    }

    @Override
    public DataType dateType() {
        return DataType.E;
    }

    @Override
    public FilterType getFilterType() {
        return FilterType.EDGE_LABEL;
    }
}
