package org.fulgurite.geaflow.internal.graph;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.geaflow.common.iterator.CloseableIterator;
import org.apache.geaflow.common.tuple.Tuple;
import org.apache.geaflow.model.graph.edge.IEdge;
import org.apache.geaflow.model.graph.vertex.IVertex;
import org.apache.geaflow.state.data.OneDegreeGraph;
import org.apache.geaflow.state.pushdown.IStatePushDown;
import org.apache.geaflow.state.pushdown.project.IProjector;
import org.apache.geaflow.store.api.graph.IStaticGraphStore;
import org.apache.geaflow.store.context.StoreContext;
import org.fulgurite.geaflow.internal.shard.Shard;
import org.fulgurite.geaflow.internal.shard.ShardEntry;
import org.fulgurite.geaflow.internal.slices.Bytes;
import org.fulgurite.geaflow.internal.slices.PartitionSettings;
import org.fulgurite.geaflow.internal.slices.Partitioning;
import org.fulgurite.geaflow.internal.slices.Partitions;
import org.fulgurite.geaflow.internal.slices.Slices;
import org.fulgurite.geaflow.internal.slices.WholeSlice;

/**
 * A graph, with a vertex for each id.
 *
 * @param <K> the type of ids
 * @param <VV> the type of values of vertices
 * @param <EV> the type of values of edges
 */
@SuppressWarnings("rawtypes")
public final class StaticGraphStore<K, VV, EV> extends GraphStore<K, VV, EV> implements IStaticGraphStore<K, VV, EV> {
    private Partitioning partitioning;

    /** The shard that was opened last. */
    private volatile Opened<K, VV, EV> opened;

    /** Creates a store, which must be initialised. */
    public StaticGraphStore() {
        super("vertices", "edges");
    }

    @Override
    public synchronized void init(StoreContext context) {
        partitioning = PartitionSettings.read(context.getConfig());
        super.init(context);
    }

    @Override
    protected String layout() {
        return super.layout() + ", partitions by " + (partitioning == null ? "nothing" : partitioning);
    }

    @Override
    protected void useShard(Shard shard) {
        Slices slices = partitioning == null ? new WholeSlice(Bytes.NONE) : new Partitions(partitioning, shard);
        opened = new Opened<>(shard, slices, reads(shard, slices));
    }

    /** The open shard, with its slices. */
    private Opened<K, VV, EV> opened() {
        // It throws if the store is closed.
        shard();
        return opened;
    }

    private GraphReads<K, VV, EV> reads() {
        return opened().reads;
    }

    @Override
    public void addEdge(IEdge<K, EV> edge) {
        Opened<K, VV, EV> to = opened();
        Tuple<byte[], byte[]> encoded = codec().encode(edge);
        to.shard.put(Slices.EDGES, Bytes.concat(to.slices.of(edge), encoded.f0), encoded.f1);
    }

    @Override
    public void addVertex(IVertex<K, VV> vertex) {
        Opened<K, VV, EV> to = opened();
        Tuple<byte[], byte[]> encoded = codec().encode(vertex);
        to.shard.put(Slices.VERTICES, Bytes.concat(to.slices.of(vertex), encoded.f0), encoded.f1);
    }

    @Override
    public IVertex<K, VV> getVertex(K id, IStatePushDown pushDown) {
        return reads().vertex(id, pushDown(pushDown));
    }

    @Override
    public List<IEdge<K, EV>> getEdges(K id, IStatePushDown pushDown) {
        return reads().edges(id, pushDown(pushDown));
    }

    @Override
    public OneDegreeGraph<K, VV, EV> getOneDegreeGraph(K id, IStatePushDown pushDown) {
        return reads().oneDegreeGraph(id, pushDown(pushDown));
    }

    @Override
    public CloseableIterator<K> vertexIDIterator() {
        return reads().ids(PushDown.none());
    }

    @Override
    public CloseableIterator<K> vertexIDIterator(IStatePushDown pushDown) {
        return reads().ids(pushDown(pushDown));
    }

    @Override
    public CloseableIterator<IVertex<K, VV>> getVertexIterator(IStatePushDown pushDown) {
        return reads().vertices(pushDown(pushDown));
    }

    @Override
    public CloseableIterator<IVertex<K, VV>> getVertexIterator(List<K> ids, IStatePushDown pushDown) {
        GraphReads<K, VV, EV> reads = reads();
        return reads.forEach(ids, reads::vertex, pushDown(pushDown));
    }

    @Override
    public CloseableIterator<IEdge<K, EV>> getEdgeIterator(IStatePushDown pushDown) {
        return reads().edges(pushDown(pushDown));
    }

    @Override
    public CloseableIterator<IEdge<K, EV>> getEdgeIterator(List<K> ids, IStatePushDown pushDown) {
        return reads().edges(ids, pushDown(pushDown));
    }

    @Override
    public CloseableIterator<OneDegreeGraph<K, VV, EV>> getOneDegreeGraphIterator(IStatePushDown pushDown) {
        return reads().oneDegreeGraphs(pushDown(pushDown));
    }

    @Override
    public CloseableIterator<OneDegreeGraph<K, VV, EV>> getOneDegreeGraphIterator(
            List<K> ids, IStatePushDown pushDown) {
        GraphReads<K, VV, EV> reads = reads();
        return reads.forEach(ids, reads::oneDegreeGraph, pushDown(pushDown));
    }

    @Override
    public <R> CloseableIterator<Tuple<K, R>> getEdgeProjectIterator(IStatePushDown<K, IEdge<K, EV>, R> pushDown) {
        return projected(getEdgeIterator(pushDown), pushDown.getProjector());
    }

    @Override
    public <R> CloseableIterator<Tuple<K, R>> getEdgeProjectIterator(
            List<K> ids, IStatePushDown<K, IEdge<K, EV>, R> pushDown) {
        return projected(getEdgeIterator(ids, pushDown), pushDown.getProjector());
    }

    private static <K, EV, R> CloseableIterator<Tuple<K, R>> projected(
            CloseableIterator<IEdge<K, EV>> edges, IProjector<IEdge<K, EV>, R> projector) {
        return GraphReads.mapped(edges, edge -> Tuple.of(edge.getSrcId(), projector.project(edge)));
    }

    @Override
    public Map<K, Long> getAggResult(IStatePushDown pushDown) {
        return reads().counts(pushDown(pushDown));
    }

    @Override
    public Map<K, Long> getAggResult(List<K> ids, IStatePushDown pushDown) {
        return reads().counts(ids, pushDown(pushDown));
    }

    /** Families of vertices are {@code default} and {@code v_}, those of edges {@code e} and {@code e_}. */
    @Override
    protected List<ShardEntry> ofRocksdb(String family, byte[] key, byte[] value) {
        Slices slices = opened().slices;
        if (family.equals("e") || family.startsWith("e_")) {
            IEdge<K, EV> edge = codec().encodedEdge(key, value);
            byte[] own = codec().edgeKey(edge.getSrcId(), key);
            return Collections.singletonList(
                    new ShardEntry(Slices.EDGES, Bytes.concat(slices.of(edge), own), value));
        }
        byte[] slice = slices.of(codec().encodedVertex(key, value));
        return Collections.singletonList(
                new ShardEntry(Slices.VERTICES, Bytes.concat(slice, codec().vertexKey(key)), value));
    }

    private static final class Opened<K, VV, EV> {
        private final Shard shard;
        private final Slices slices;
        private final GraphReads<K, VV, EV> reads;

        Opened(Shard shard, Slices slices, GraphReads<K, VV, EV> reads) {
            this.shard = shard;
            this.slices = slices;
            this.reads = reads;
        }
    }
}
