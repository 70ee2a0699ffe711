package org.fulgurite.geaflow.samples;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.apache.geaflow.model.graph.edge.EdgeDirection;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.data.DataType;
import org.apache.geaflow.state.data.OneDegreeGraph;
import org.apache.geaflow.state.data.TimeRange;
import org.apache.geaflow.state.graph.encoder.EdgeAtom;
import org.apache.geaflow.state.pushdown.IStatePushDown;
import org.apache.geaflow.state.pushdown.filter.EdgeLabelFilter;
import org.apache.geaflow.state.pushdown.filter.EdgeTsFilter;
import org.apache.geaflow.state.pushdown.filter.IFilter;
import org.apache.geaflow.state.pushdown.filter.VertexLabelFilter;
import org.apache.geaflow.state.pushdown.filter.VertexTsFilter;
import org.apache.geaflow.state.pushdown.filter.inner.AndGraphFilter;
import org.apache.geaflow.state.pushdown.filter.inner.EmptyGraphFilter;
import org.apache.geaflow.state.pushdown.filter.inner.GraphFilter;
import org.apache.geaflow.state.pushdown.filter.inner.IGraphFilter;
import org.apache.geaflow.state.pushdown.filter.inner.OrGraphFilter;
import org.apache.geaflow.state.pushdown.limit.IEdgeLimit;
import org.apache.geaflow.state.pushdown.project.IProjector;

/** What a test wants a store to do while it reads. */
public final class Conditions<K, T, R> implements IStatePushDown<K, T, R> {
    private IFilter<?> filter = EmptyGraphFilter.of();
    private Map<K, IFilter<?>> filters;
    private IEdgeLimit limit;
    private List<EdgeAtom> order;
    private IProjector<T, R> projector;

    public static <K, T, R> Conditions<K, T, R> none() {
        return new Conditions<>();
    }

    public static <K, T, R> Conditions<K, T, R> of(IFilter<?> filter) {
        Conditions<K, T, R> conditions = new Conditions<>();
        conditions.filter = filter;
        return conditions;
    }

    public Conditions<K, T, R> of(Map<K, IFilter<?>> each) {
        filters = each;
        return this;
    }

    public Conditions<K, T, R> order(EdgeAtom... atoms) {
        order = Arrays.asList(atoms);
        return this;
    }

    public Conditions<K, T, R> projector(IProjector<T, R> function) {
        projector = function;
        return this;
    }

    public Conditions<K, T, R> limit(long out, long in) {
        limit = new IEdgeLimit() {
            private static final long serialVersionUID = 1L;

            @Override
            public long inEdgeLimit() {
                return in;
            }

            @Override
            public long outEdgeLimit() {
                return out;
            }
        };
        return this;
    }

    @Override
    public IFilter<?> getFilter() {
        return filter;
    }

    @Override
    @SuppressWarnings({"rawtypes", "unchecked"})
    public <F extends IFilter> Map<K, F> getFilters() {
        return (Map) filters;
    }

    @Override
    public IEdgeLimit getEdgeLimit() {
        return limit;
    }

    @Override
    public List<EdgeAtom> getOrderFields() {
        return order;
    }

    @Override
    public IProjector<T, R> getProjector() {
        return projector;
    }

    public static IGraphFilter and(IGraphFilter... filters) {
        return new AndGraphFilter(Arrays.asList(filters));
    }

    public static IGraphFilter or(IGraphFilter... filters) {
        return new OrGraphFilter(Arrays.asList(filters));
    }

    public static IGraphFilter edgeLabels(String... labels) {
        return GraphFilter.of(new EdgeLabelFilter<>(Arrays.asList(labels)));
    }

    public static IGraphFilter vertexLabels(String... labels) {
        return GraphFilter.of(new VertexLabelFilter<>(Arrays.asList(labels)));
    }

    public static IGraphFilter edgeTimes(long start, long end) {
        return GraphFilter.of(new EdgeTsFilter<>(TimeRange.of(start, end)));
    }

    public static IGraphFilter vertexTimes(long start, long end) {
        return GraphFilter.of(new VertexTsFilter<>(TimeRange.of(start, end)));
    }

    public static IGraphFilter outgoing() {
        return GraphFilter.of(new Test<IEdge<?, ?>>(DataType.E, edge -> edge.getDirect() == EdgeDirection.OUT));
    }

    public static IGraphFilter withVertex() {
        return GraphFilter.of(new Test<OneDegreeGraph<?, ?, ?>>(DataType.VE, graph -> graph.getVertex() != null));
    }

    public static IGraphFilter shortValues() {
        return GraphFilter.of(
                new Test<IVertex<?, String>>(DataType.V, vertex -> vertex.getValue().length() < 5));
    }

    private static final class Test<T> implements IFilter<T> {
        private static final long serialVersionUID = 1L;

        private final DataType type;
        private final transient Predicate<T> predicate;

        Test(DataType type, Predicate<T> predicate) {
            this.type = type;
            this.predicate = predicate;
        }

        @Override
        public boolean filter(T value) {
            return predicate.test(value);
        }

        @Override
        public DataType dateType() {
            return type;
        }
    }
}
