package org.fulgurite.geaflow.internal.slices;

import java.util.Locale;
import org.apache.geaflow.common.config.Configuration;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.fulgurite.geaflow.internal.shard.StoreSettings;

/** What the configuration says about partitions. */
public final class PartitionSettings {
    private static final long START_DEFAULT = 1_735_660_800L;
    private static final long CYCLE_DEFAULT = 2_592_000L;

    private PartitionSettings() {}

    /** Returns what partitions are made of; null if there are none. */
    public static Partitioning read(Configuration configuration) {
        StoreSettings settings = new StoreSettings(configuration);
        return settings.value("graph.store.partition.type", null, type -> partitioning(type, settings));
    }

    private static Partitioning partitioning(String type, StoreSettings settings) {
        switch (type.toUpperCase(Locale.ROOT)) {
            case "NONE":
                return null;
            case "LABEL":
                return new Partitioning.ByLabel();
            case "DT":
                return new Partitioning.ByTime(
                        settings.value("graph.store.dt.start", START_DEFAULT, Long::parseLong),
                        settings.value("graph.store.dt.cycle", CYCLE_DEFAULT, PartitionSettings::positive));
            default:
                throw new IllegalArgumentException("it must be none, label or dt");
        }
    }

    private static Long positive(String text) {
        long number = Long.parseLong(text);
        if (number <= 0) {
            throw new IllegalArgumentException("it must be more than 0");
        }
        return number;
    }
}
