package org.fulgurite.geaflow.internal.slices;

import org.apache.geaflow.common.config.Configuration;
import org.apache.geaflow.store.config.StoreConfigKeys;
import org.fulgurite.geaflow.internal.shard.StoreSettings;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What the configuration says about partitions. */
public final class PartitionSettings {
    private static final Logger LOGGER = LoggerFactory.getLogger(PartitionSettings.class);

    private PartitionSettings() {}

    /** Returns what partitions are made of; null if there are none. */
    public static Partitioning read(Configuration configuration) {
        StoreSettings settings = new StoreSettings(configuration);
        String type = settings.partitionType;
        if (type.equals("none")) {
            return null;
        }
        if (StoreSettings.isEnabled(configuration, StoreConfigKeys.STORE_FILTER_CODEGEN_ENABLE)) {
            LOGGER.warn("reads go to all partitions, as conditions are compiled: set {} to false to use them",
                    StoreConfigKeys.STORE_FILTER_CODEGEN_ENABLE.getKey());
        }
        return type.equals("label")
                ? new Partitioning.ByLabel()
                : new Partitioning.ByTime(settings.partitionStart, settings.partitionCycle);
    }
}
