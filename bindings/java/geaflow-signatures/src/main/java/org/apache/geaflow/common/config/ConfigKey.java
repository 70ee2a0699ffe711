package org.apache.geaflow.common.config;

/** A key of the configuration, with its default. */
public class ConfigKey {
    private final String key;
    private final Object defaultValue;

    public ConfigKey(String key, Object defaultValue) {
        this.key = key;
        this.defaultValue = defaultValue;
    }

    public String getKey() {
        return key;
    }

    public Object getDefaultValue() {
        return defaultValue;
    }
}
