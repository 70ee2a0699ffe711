package org.apache.geaflow.common.config.keys;

import org.apache.geaflow.common.config.ConfigKey;

/** Keys of the configuration. */
public final class ExecutionConfigKeys {
    public static final ConfigKey JOB_APP_NAME =
            new ConfigKey("geaflow.job.runtime.name", "default");
    public static final ConfigKey JOB_WORK_PATH =
            new ConfigKey("geaflow.work.path", "/tmp");

    private ExecutionConfigKeys() {}
}
