package org.fulgurite.geaflow;

/**
 * The builder under the name {@code ROCKSDB}, if the system property {@code fulgurite.geaflow.rocksdb} is {@code true}.
 * Jobs that name RocksDB then use Fulgurite without a change of their configuration. GeaFlow takes the first builder of
 * a name on the class path, so put this module before geaflow-store-rocksdb. Sources of GeaFlow's DSL need its classes.
 */
public final class RocksdbAliasStoreBuilder extends FulguriteStoreBuilder {
    /** Creates the builder. It does not load the native library. */
    public RocksdbAliasStoreBuilder() {
        super(Boolean.getBoolean("fulgurite.geaflow.rocksdb") ? "ROCKSDB" : "FULGURITE");
    }
}
