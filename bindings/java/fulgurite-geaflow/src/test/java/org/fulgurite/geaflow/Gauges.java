package org.fulgurite.geaflow;

import java.util.Map;
import java.util.TreeMap;
import org.apache.geaflow.metrics.common.api.Gauge;
import org.apache.geaflow.metrics.common.api.MetricGroup;

/** What a state reports to its metric group. */
final class Gauges implements MetricGroup {
    final Map<String, Object> values = new TreeMap<>();

    @Override
    public <T> Gauge<T> gauge(String name) {
        return value -> values.put(name, value);
    }

    @Override
    public void remove(String name) {
        values.remove(name);
    }

    /** A gauge of shard 0. */
    long of(String name) {
        return (Long) values.get("fulgurite." + WithJob.STATE + ".0." + name);
    }
}
