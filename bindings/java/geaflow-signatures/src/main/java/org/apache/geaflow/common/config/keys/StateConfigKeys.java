package org.apache.geaflow.common.config.keys;

import org.apache.geaflow.common.config.ConfigKey;

/** Keys of the configuration. */
public final class StateConfigKeys {
    public static final byte[] DELIMITER = {1, 8};

    public static final ConfigKey STATE_ARCHIVED_VERSION_NUM =
            new ConfigKey("geaflow.state.archived.version.num", 1);

    public static final ConfigKey STATE_WRITE_ASYNC_ENABLE = new ConfigKey("geaflow.state.write.async.enable", true);

    public static final ConfigKey STATE_WRITE_BUFFER_NUMBER = new ConfigKey("geaflow.state.write.buffer.number", 3);

    public static final ConfigKey STATE_WRITE_BUFFER_SIZE = new ConfigKey("geaflow.state.write.buffer.size", 10_000);

    private StateConfigKeys() {}
}
