package org.apache.geaflow.state.pushdown.filter;

import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import org.apache.geaflow.model.graph.IGraphElementWithLabelField;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.data.DataType;

/** Labels that are kept. */
public class VertexLabelFilter<K, VV> implements IFilter<IVertex<K, VV>> {
    private static final long serialVersionUID = 1L;

    private final Set<String> labels;

    public VertexLabelFilter(Collection<String> labels) {
        this.labels = new HashSet<>(labels);
    }

    public Set<String> getLabels() {
        return labels;
    }

    @Override
    public boolean filter(IVertex<K, VV> value) {
        return labels.contains(((IGraphElementWithLabelField) value).getLabel());
    }

    @Override
    public DataType dateType() {
        return DataType.V;
    }

    @Override
    public FilterType getFilterType() {
        return FilterType.VERTEX_LABEL;
    }
}
