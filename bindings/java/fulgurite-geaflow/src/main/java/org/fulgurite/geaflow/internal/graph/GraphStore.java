package org.fulgurite.geaflow.internal.graph;

import java.nio.charset.Charset;
import java.util.List;
import org.apache.geaflow.common.config.Configuration;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.apache.geaflow.state.graph.encoder.EdgeAtom;
import org.apache.geaflow.state.graph.encoder.EdgeKVEncoderWithoutValue;
import org.apache.geaflow.state.graph.encoder.GraphKVEncoderFactory;
import org.apache.geaflow.state.graph.encoder.IEdgeKVEncoder;
import org.apache.geaflow.state.graph.encoder.IGraphKVEncoder;
import org.apache.geaflow.state.pushdown.IStatePushDown;
import org.apache.geaflow.state.pushdown.inner.CodeGenFilterConverter;
import org.apache.geaflow.state.pushdown.inner.DirectFilterConverter;
import org.apache.geaflow.state.pushdown.inner.IFilterConverter;
import org.apache.geaflow.state.schema.GraphDataSchema;
import org.apache.geaflow.store.api.graph.IPushDownStore;
import org.apache.geaflow.store.config.StoreConfigKeys;
import org.apache.geaflow.store.context.StoreContext;
import org.fulgurite.geaflow.internal.shard.Shard;
import org.fulgurite.geaflow.internal.shard.ShardStore;
import org.fulgurite.geaflow.internal.shard.StoreSettings;
import org.fulgurite.geaflow.internal.slices.Slices;

/** What stores of graphs have in common: the bytes of elements, and conditions. */
abstract class GraphStore<K, VV, EV> extends ShardStore implements IPushDownStore {
    private IFilterConverter filterConverter;
    private IGraphKVEncoder<K, VV, EV> encoder;
    private GraphCodec<K, VV, EV> codec;

    /** The parts of the keys of edges, in their order. */
    private List<EdgeAtom> order;

    GraphStore(String... tables) {
        super(tables);
    }

    @Override
    public synchronized void init(StoreContext context) {
        // The bytes of an open shard would not be those of another schema.
        close();
        Configuration configuration = context.getConfig();
        filterConverter = StoreSettings.isEnabled(configuration, StoreConfigKeys.STORE_FILTER_CODEGEN_ENABLE)
                ? new CodeGenFilterConverter()
                : new DirectFilterConverter();
        // The factory sets the order of the schema.
        GraphDataSchema schema = context.getGraphSchema();
        encoder = GraphKVEncoderFactory.build(configuration, schema);
        codec = new GraphCodec<>(encoder, schema);
        order = schema.getEdgeAtoms();
        if (order.get(0) != EdgeAtom.SRC_ID) {
            throw new GeaflowRuntimeException(
                    "geaflow.state.kv.encoder.edge.order must begin with SRC_ID, and is " + order);
        }
        super.init(context);
    }

    @Override
    public IFilterConverter getFilterConverter() {
        return filterConverter;
    }

    /** Checkpoints of graphs are below the name of the state, without that of the job. */
    @Override
    protected String remoteDirectory(String job, String name, int id) {
        return name + "/" + id;
    }

    @Override
    protected String layout() {
        return super.layout() + " of a graph, edges " + order + ", ids " + codec.ids();
    }

    @Override
    protected String classes() {
        IEdgeKVEncoder<K, EV> edges = encoder.getEdgeEncoder();
        boolean isOfGeaFlow = edges instanceof EdgeKVEncoderWithoutValue;
        return "encoders " + className(encoder) + ", " + className(encoder.getVertexEncoder()) + ", " + className(edges)
                + (isOfGeaFlow ? ", " + className(((EdgeKVEncoderWithoutValue<K, EV>) edges).getBytesEncoder()) : "")
                // GeaFlow's encoder writes labels in the charset of the virtual machine.
                + (order.contains(EdgeAtom.LABEL) ? "; labels in " + Charset.defaultCharset() : "");
    }

    final GraphCodec<K, VV, EV> codec() {
        return codec;
    }

    final PushDown<K> pushDown(IStatePushDown<?, ?, ?> given) {
        return PushDown.of(given, order);
    }

    /** The reads of some slices. */
    final GraphReads<K, VV, EV> reads(Shard shard, Slices slices) {
        return new GraphReads<>(shard, codec, slices);
    }
}
