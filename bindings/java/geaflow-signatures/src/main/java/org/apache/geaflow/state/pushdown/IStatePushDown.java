package org.apache.geaflow.state.pushdown;

import java.util.List;
import java.util.Map;
import org.apache.geaflow.state.graph.encoder.EdgeAtom;
import org.apache.geaflow.state.pushdown.filter.IFilter;
import org.apache.geaflow.state.pushdown.limit.IEdgeLimit;
import org.apache.geaflow.state.pushdown.project.IProjector;

/** What a store does while it reads. */
@SuppressWarnings("rawtypes")
public interface IStatePushDown<K, T, R> {
    IFilter getFilter();

    <F extends IFilter> Map<K, F> getFilters();

    IEdgeLimit getEdgeLimit();

    List<EdgeAtom> getOrderFields();

    IProjector<T, R> getProjector();
}
