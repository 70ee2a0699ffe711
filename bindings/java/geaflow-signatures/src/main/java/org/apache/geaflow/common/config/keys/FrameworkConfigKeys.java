package org.apache.geaflow.common.config.keys;

import org.apache.geaflow.common.config.ConfigKey;

/** Keys of the configuration. */
public final class FrameworkConfigKeys {
    public static final ConfigKey BATCH_NUMBER_PER_CHECKPOINT =
            new ConfigKey("geaflow.batch.number.per.checkpoint", 5L);

    private FrameworkConfigKeys() {}
}
