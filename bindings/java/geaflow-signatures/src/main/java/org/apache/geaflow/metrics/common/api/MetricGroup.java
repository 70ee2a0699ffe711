package org.apache.geaflow.metrics.common.api;

/** Metrics, by their names. */
public interface MetricGroup {
    <T> Gauge<T> gauge(String name);

    void remove(String name);
}
