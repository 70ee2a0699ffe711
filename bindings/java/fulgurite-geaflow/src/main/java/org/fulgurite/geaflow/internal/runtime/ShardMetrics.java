package org.fulgurite.geaflow.internal.runtime;

import java.util.Set;
import java.util.TreeSet;
import org.apache.geaflow.metrics.common.api.MetricGroup;
import org.fulgurite.Stats;

/** The sizes of a shard as gauges. docs/guide/geaflow.md lists them. */
public final class ShardMetrics {
    private final MetricGroup group;
    private final String prefix;
    private final Set<String> names = new TreeSet<>();

    /**
     * Creates the gauges of a shard.
     *
     * @param group where they are registered
     * @param state the name of the state
     * @param shard the number of the shard
     */
    public ShardMetrics(MetricGroup group, String state, int shard) {
        this.group = group;
        prefix = "fulgurite." + state + "." + shard + ".";
    }

    /**
     * Sets the gauges.
     *
     * @param stats the sizes
     * @param entries about how many entries there are
     * @param utilisation the used part of the quota; negative without a quota
     */
    public void set(Stats stats, long entries, double utilisation) {
        set("entries", entries);
        set("fileBytes", stats.fileBytes());
        set("freeBytes", stats.freeBytes());
        set("memoryBytes", stats.deltaBytes());
        set("logBytes", stats.logBytes());
        set("snapshotBytes", stats.pinnedBytes());
        set("treePages", stats.treePages());
        set("treeLevels", stats.treeLevels());
        if (utilisation >= 0) {
            set("utilisation", utilisation);
        }
    }

    private void set(String name, Object value) {
        names.add(prefix + name);
        group.gauge(prefix + name).setValue(value);
    }

    /** Removes the gauges. */
    public void remove() {
        names.forEach(group::remove);
        names.clear();
    }
}
