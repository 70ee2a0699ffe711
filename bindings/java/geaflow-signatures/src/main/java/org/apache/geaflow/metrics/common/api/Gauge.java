package org.apache.geaflow.metrics.common.api;

/** A metric that is set. */
public interface Gauge<T> {
    void setValue(T value);
}
