package org.fulgurite.geaflow;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.geaflow.common.config.Configuration;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.apache.geaflow.state.DataModel;
import org.apache.geaflow.store.IBaseStore;
import org.apache.geaflow.store.IStoreBuilder;
import org.apache.geaflow.store.StoreDesc;
import org.fulgurite.geaflow.internal.graph.DynamicGraphStore;
import org.fulgurite.geaflow.internal.graph.StaticGraphStore;
import org.fulgurite.geaflow.internal.keys.KeyListStore;
import org.fulgurite.geaflow.internal.keys.KeyMapStore;
import org.fulgurite.geaflow.internal.keys.KeyValueStore;

/**
 * Builds stores for states of GeaFlow: values, lists and maps for each key, static graphs, and dynamic graphs, which
 * have versions. GeaFlow finds the builder as a service, under the name {@code FULGURITE}.
 */
public class FulguriteStoreBuilder implements IStoreBuilder {
    private static final List<DataModel> MODELS = Collections.unmodifiableList(Arrays.asList(
            DataModel.KV, DataModel.KList, DataModel.KMap, DataModel.STATIC_GRAPH, DataModel.DYNAMIC_GRAPH));

    private final String name;

    /** Creates the builder. It does not load the native library. */
    public FulguriteStoreBuilder() {
        this("FULGURITE");
    }

    /**
     * Creates a builder that GeaFlow finds under another name.
     *
     * @param name the name
     */
    protected FulguriteStoreBuilder(String name) {
        this.name = name;
    }

    @Override
    public IBaseStore getStore(DataModel model, Configuration configuration) {
        switch (model) {
            case KV:
                return new KeyValueStore<>();
            case KList:
                return new KeyListStore<>();
            case KMap:
                return new KeyMapStore<>();
            case STATIC_GRAPH:
                return new StaticGraphStore<>();
            case DYNAMIC_GRAPH:
                return new DynamicGraphStore<>();
            default:
                throw new GeaflowRuntimeException("Fulgurite has no store for " + model + "; it has stores for " + MODELS);
        }
    }

    @Override
    public StoreDesc getStoreDesc() {
        return new Description(name);
    }

    @Override
    public List<DataModel> supportedDataModel() {
        return MODELS;
    }

    private static final class Description implements StoreDesc {
        private final String name;

        Description(String name) {
            this.name = name;
        }

        @Override
        public boolean isLocalStore() {
            return true;
        }

        @Override
        public String name() {
            return name;
        }
    }
}
