package org.apache.geaflow.file;

import org.apache.geaflow.common.config.ConfigKey;

/** Keys of the configuration. */
public final class FileConfigKeys {
    public static final ConfigKey ROOT =
            new ConfigKey("geaflow.file.persistent.root", "/geaflow/chk");

    private FileConfigKeys() {}
}
