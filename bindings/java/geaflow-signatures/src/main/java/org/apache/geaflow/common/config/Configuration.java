package org.apache.geaflow.common.config;

import java.util.Map;

/** The configuration of a job. */
public class Configuration {
    private final Map<String, String> values;

    public Configuration(Map<String, String> values) {
        this.values = values;
    }

    public Map<String, String> getConfigMap() {
        return values;
    }

    public String getString(ConfigKey key) {
        return values.getOrDefault(key.getKey(), String.valueOf(key.getDefaultValue()));
    }
}
