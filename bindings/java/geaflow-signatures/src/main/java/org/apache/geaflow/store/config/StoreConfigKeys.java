package org.apache.geaflow.store.config;

import org.apache.geaflow.common.config.ConfigKey;

/** Keys of the configuration. */
public final class StoreConfigKeys {
    public static final ConfigKey STORE_FILTER_CODEGEN_ENABLE =
            new ConfigKey("geaflow.store.filter.codegen.enable", true);

    private StoreConfigKeys() {}
}
