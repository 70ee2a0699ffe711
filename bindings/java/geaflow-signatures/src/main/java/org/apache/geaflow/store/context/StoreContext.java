package org.apache.geaflow.store.context;

import org.apache.geaflow.common.config.Configuration;
import org.apache.geaflow.metrics.common.api.MetricGroup;
import org.apache.geaflow.state.schema.GraphDataSchema;
import org.apache.geaflow.state.serializer.IKeySerializer;

/** What a store is for. */
public class StoreContext {
    private final String name;
    private Configuration configuration;
    private int shardId;
    private MetricGroup metricGroup;
    private GraphDataSchema graphSchema;
    private IKeySerializer<?> keySerializer;

    public StoreContext(String name) {
        this.name = name;
    }

    public StoreContext withConfig(Configuration config) {
        configuration = config;
        return this;
    }

    public StoreContext withShardId(int id) {
        shardId = id;
        return this;
    }

    public StoreContext withMetricGroup(MetricGroup group) {
        metricGroup = group;
        return this;
    }

    public StoreContext withDataSchema(GraphDataSchema schema) {
        graphSchema = schema;
        return this;
    }

    public StoreContext withKeySerializer(@SuppressWarnings("rawtypes") IKeySerializer serializer) {
        keySerializer = serializer;
        return this;
    }

    public String getName() {
        return name;
    }

    public Configuration getConfig() {
        return configuration;
    }

    public int getShardId() {
        return shardId;
    }

    public MetricGroup getMetricGroup() {
        return metricGroup;
    }

    public GraphDataSchema getGraphSchema() {
        return graphSchema;
    }

    @SuppressWarnings("rawtypes")
    public IKeySerializer getKeySerializer() {
        return keySerializer;
    }
}
