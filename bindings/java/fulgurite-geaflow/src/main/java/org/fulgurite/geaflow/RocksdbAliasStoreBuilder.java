package org.fulgurite.geaflow;

import org.apache.geaflow.common.config.Configuration;
import org.apache.geaflow.state.DataModel;
import org.apache.geaflow.store.IBaseStore;
import org.fulgurite.geaflow.internal.keys.RocksdbKeyValueStore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The builder that GeaFlow finds as {@code ROCKSDB}, if the system property {@code fulgurite.geaflow.rocksdb} is {@code
 * true}. Jobs that name RocksDB then use Fulgurite without a change of their configuration.
 *
 * <p>GeaFlow uses the first builder of a name on the class path, so put this module before geaflow-store-rocksdb. Keep
 * that module: sources of tables in GeaFlow's DSL need its classes. Programs can cast stores of values to its {@code
 * KVRocksdbStoreBase}.
 */
public final class RocksdbAliasStoreBuilder extends FulguriteStoreBuilder {
    private static final Logger LOGGER = LoggerFactory.getLogger(RocksdbAliasStoreBuilder.class);
    private static final String ROCKSDB = "ROCKSDB";

    /** Creates the builder. It does not load the native library. */
    public RocksdbAliasStoreBuilder() {
        super(Boolean.getBoolean("fulgurite.geaflow.rocksdb") ? ROCKSDB : "FULGURITE");
    }

    @Override
    public IBaseStore getStore(DataModel model, Configuration configuration) {
        if (model == DataModel.KV && getStoreDesc().name().equals(ROCKSDB)) {
            try {
                return new RocksdbKeyValueStore<>();
            } catch (LinkageError noClass) {
                // No program can then cast the store to that class.
                LOGGER.debug("KVRocksdbStoreBase cannot be loaded: stores of values cannot be cast to it", noClass);
            }
        }
        return super.getStore(model, configuration);
    }
}
