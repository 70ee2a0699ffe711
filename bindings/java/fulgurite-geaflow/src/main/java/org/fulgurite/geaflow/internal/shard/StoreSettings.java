package org.fulgurite.geaflow.internal.shard;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import org.apache.geaflow.common.config.ConfigKey;
import org.apache.geaflow.common.config.Configuration;
import org.apache.geaflow.common.config.keys.FrameworkConfigKeys;
import org.apache.geaflow.common.config.keys.StateConfigKeys;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.fulgurite.Database;
import org.fulgurite.DatabaseOptions;
import org.fulgurite.geaflow.internal.runtime.UnknownKeys;
import org.fulgurite.options.Durability;
import org.fulgurite.options.Isolation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What the configuration says about stores. docs/guide/geaflow.md describes the keys. */
public final class StoreSettings {
    private static final Logger LOGGER = LoggerFactory.getLogger(StoreSettings.class);
    private static final String PREFIX = "geaflow.store.fulgurite.";

    /** Keys of other stores, which are read if ours are absent. */
    private static final String LMDB_PREFIX = "geaflow.store.lmdb.";

    private static final String ROCKSDB_PREFIX = "geaflow.store.rocksdb.";

    /** Follows the error of a file that other classes have written. */
    static final String CLASSES_REMEDY =
            "; if the bytes of the classes are the same, set " + PREFIX + "classes.check to false";

    private static final String[] WITHOUT_USE = {"max.readers", "no.tls", "persistent.clean.thread.size", "write.map"};

    /** All keys, without the name of the store. */
    private static final List<String> KEYS = Collections.unmodifiableList(Arrays.asList(
            "map.size", "map.size.warning.threshold", "sync.mode", "memory.size", "open.shards.max", "log.size",
            "classes.check", "checkpoint.compression", "graph.store.partition.type", "graph.store.dt.start",
            "graph.store.dt.cycle", "max.readers", "no.tls", "persistent.clean.thread.size", "write.map"));

    private static final double WARNING_DEFAULT = 0.8;
    private static final long LOG_BYTES_DEFAULT = 64L << 20;
    private static final long MEMORY_BYTES_DEFAULT = 512L << 20;
    private static final int OPEN_FILES_DEFAULT = 256;
    private static final long PARTITION_START_DEFAULT = 1_735_660_800L;
    private static final long PARTITION_CYCLE_DEFAULT = 2_592_000L;
    private static final long DELTA_BYTES_MAX = 64 << 20;
    private static final int COMPRESSION_LEVEL_DEFAULT = 1;
    private static final int COMPRESSION_LEVEL_MAX = 22;

    /** The least memory that the engine accepts for the commits of a file. */
    static final long MEMORY_BYTES_MIN = 64 << 10;

    /** The least quota: an empty shard has a few pages, and as many again while it is written. */
    private static final long QUOTA_BYTES_MIN = 256 << 10;

    private static final int QUOTA_STEPS = 50;

    /** With a small quota, sizes are checked after this many bytes: each check needs a look at the file. */
    private static final long QUOTA_STEP_MIN = 64 << 10;

    private final Map<String, String> values;

    /** The largest size of a file; 0 for no limit. */
    final long quotaBytes;

    /** The key that has the quota, or that would have it. */
    final String quotaKey;

    /** The part of the quota from which on warnings are logged. */
    final double warningThreshold;

    final Durability durability;
    final long logBytes;
    final long memoryBytes;

    /** Whether a file that was written by other classes is refused. */
    final boolean checksClasses;

    /** How many shards of the process have their files open. */
    final int openFilesMax;

    final int retained;

    /** The level at which checkpoints are compressed; 0 if they are not. */
    final int compressionLevel;

    /** Whether threads in the background apply and commit changes. */
    final boolean isAsynchronous;

    /** How many buffers of small changes a shard has, with the one that is being filled. */
    final int buffersMax;

    /** How many changes a buffer has at most. */
    final int bufferChangesMax;

    /** What partitions of static graphs are made of: {@code none}, {@code label} or {@code dt}. */
    public final String partitionType;

    /** Where the first cycle of partitions by time begins. */
    public final long partitionStart;

    /** The length of a cycle. */
    public final long partitionCycle;

    /** Reads the settings. A value that is not allowed throws an exception. */
    public StoreSettings(Configuration configuration) {
        values = configuration.getConfigMap();
        quotaBytes = value("map.size", 0L, text -> bytes(text, QUOTA_BYTES_MIN));
        String foundKey = find("map.size");
        quotaKey = foundKey == null ? PREFIX + "map.size" : foundKey;
        warningThreshold = value("map.size.warning.threshold", WARNING_DEFAULT, StoreSettings::part);
        durability = value("sync.mode", Durability.MEMORY, StoreSettings::durability);
        logBytes = value("log.size", LOG_BYTES_DEFAULT, text -> bytes(text, 1));
        memoryBytes = value("memory.size", MEMORY_BYTES_DEFAULT, text -> bytes(text, MEMORY_BYTES_MIN));
        checksClasses = value("classes.check", true, StoreSettings::flag);
        openFilesMax = value("open.shards.max", OPEN_FILES_DEFAULT, StoreSettings::count);
        compressionLevel = value("checkpoint.compression", COMPRESSION_LEVEL_DEFAULT, StoreSettings::compressionLevel);
        // States without partitions check these too.
        partitionType = value("graph.store.partition.type", "none", StoreSettings::partitionType);
        partitionStart = value("graph.store.dt.start", PARTITION_START_DEFAULT, StoreSettings::time);
        partitionCycle = value("graph.store.dt.cycle", PARTITION_CYCLE_DEFAULT, StoreSettings::length);
        long batches = ofGeaFlow(
                configuration, FrameworkConfigKeys.BATCH_NUMBER_PER_CHECKPOINT, StoreSettings::countFromZero);
        long versions =
                ofGeaFlow(configuration, StateConfigKeys.STATE_ARCHIVED_VERSION_NUM, StoreSettings::countFromZero);
        long wanted = Math.max(versions, 2 * Math.min(batches, Integer.MAX_VALUE));
        retained = (int) Math.max(1, Math.min(Integer.MAX_VALUE, wanted));
        isAsynchronous = isEnabled(configuration, StateConfigKeys.STATE_WRITE_ASYNC_ENABLE);
        int buffers = ofGeaFlow(configuration, StateConfigKeys.STATE_WRITE_BUFFER_NUMBER, StoreSettings::count);
        // A full buffer waits for a thread, beside the one that is being filled.
        buffersMax = isAsynchronous ? Math.max(2, buffers) : 1;
        bufferChangesMax = ofGeaFlow(configuration, StateConfigKeys.STATE_WRITE_BUFFER_SIZE, StoreSettings::count);
        UnknownKeys.warn(values.keySet(), PREFIX, KEYS);
        for (String key : WITHOUT_USE) {
            if (find(key) != null) {
                LOGGER.info("{} has no use in Fulgurite: it is ignored", find(key));
            }
        }
    }

    /** The part of the quota after which the sizes are checked again. */
    long quotaStep() {
        return Math.max(QUOTA_STEP_MIN, quotaBytes / QUOTA_STEPS);
    }

    /** The options of the file of a shard. */
    DatabaseOptions databaseOptions() {
        long deltaBytes = Math.min(DELTA_BYTES_MAX, memoryBytes);
        if (quotaBytes > 0) {
            deltaBytes = Math.min(deltaBytes, Math.max(MEMORY_BYTES_MIN, quotaBytes / 8));
        }
        DatabaseOptions options = Database.options()
                .create(true)
                .background(false)
                .durability(durability)
                .isolation(Isolation.SNAPSHOT)
                .keepLog(logBytes)
                .deltaBytes(deltaBytes);
        return quotaBytes == 0 ? options : options.maxSizeBytes(quotaBytes);
    }

    /** Returns whether a key of GeaFlow is {@code true}. A value that is not allowed throws an exception. */
    public static boolean isEnabled(Configuration configuration, ConfigKey key) {
        return ofGeaFlow(configuration, key, StoreSettings::flag);
    }

    /** Returns the value of a key of GeaFlow, which has a default. */
    private static <T> T ofGeaFlow(Configuration configuration, ConfigKey key, Function<String, T> parse) {
        String given = configuration.getConfigMap().get(key.getKey());
        String text = given == null ? String.valueOf(key.getDefaultValue()) : given;
        try {
            return parse.apply(text.trim());
        } catch (IllegalArgumentException wrong) {
            throw new GeaflowRuntimeException(key.getKey() + " is \"" + text + "\": " + wrong.getMessage(), wrong);
        }
    }

    /** Returns the key of a setting that is there, or null. */
    private String find(String key) {
        if (values.containsKey(PREFIX + key)) {
            return PREFIX + key;
        }
        if (values.containsKey(LMDB_PREFIX + key)) {
            return LMDB_PREFIX + key;
        }
        // Partitions have the same meaning in RocksDB's store; its other keys have none here.
        boolean isOfRocksdb = key.startsWith("graph.") && values.containsKey(ROCKSDB_PREFIX + key);
        return isOfRocksdb ? ROCKSDB_PREFIX + key : null;
    }

    /**
     * Returns the value of a setting.
     *
     * @param key the key, without the name of the store
     * @param byDefault the value if the key is absent
     * @param parse reads the text, and throws an {@link IllegalArgumentException} if it is wrong
     */
    private <T> T value(String key, T byDefault, Function<String, T> parse) {
        String found = find(key);
        if (found == null) {
            return byDefault;
        }
        try {
            return parse.apply(values.get(found).trim());
        } catch (IllegalArgumentException wrong) {
            throw new GeaflowRuntimeException(
                    found + " is \"" + values.get(found) + "\": " + wrong.getMessage(), wrong);
        }
    }

    private static Boolean flag(String text) {
        if (text.equalsIgnoreCase("true") || text.equalsIgnoreCase("false")) {
            return Boolean.valueOf(text);
        }
        throw new IllegalArgumentException("it must be true or false");
    }

    private static Long bytes(String text, long min) {
        long bytes;
        try {
            bytes = Long.parseLong(text);
        } catch (NumberFormatException wrong) {
            throw new IllegalArgumentException("it must be a number of bytes", wrong);
        }
        if (bytes <= 0) {
            throw new IllegalArgumentException("it must be a positive number of bytes");
        }
        if (bytes < min) {
            throw new IllegalArgumentException("it must be at least " + min + " bytes");
        }
        return bytes;
    }

    private static Long countFromZero(String text) {
        return number(text, 0, Long.MAX_VALUE, "it must be a number, at least 0");
    }

    private static String partitionType(String text) {
        String type = text.toLowerCase(Locale.ROOT);
        if (!Arrays.asList("none", "label", "dt").contains(type)) {
            throw new IllegalArgumentException("it must be none, label or dt");
        }
        return type;
    }

    private static Long time(String text) {
        return number(text, Long.MIN_VALUE, Long.MAX_VALUE, "it must be a number in the unit of the times, not a date");
    }

    private static Long length(String text) {
        return number(text, 1, Long.MAX_VALUE, "it must be a number in the unit of the times, at least 1");
    }

    private static Integer compressionLevel(String text) {
        String expected = "it must be a level from 1 to " + COMPRESSION_LEVEL_MAX + ", or 0 for none";
        return (int) number(text, 0, COMPRESSION_LEVEL_MAX, expected);
    }

    private static Integer count(String text) {
        return (int) number(text, 1, Integer.MAX_VALUE, "it must be a number from 1 to 2147483647");
    }

    /** Returns a number from {@code min} to {@code max}; throws an exception with {@code expected} for any other text. */
    private static long number(String text, long min, long max, String expected) {
        long number;
        try {
            number = Long.parseLong(text);
        } catch (NumberFormatException wrong) {
            throw new IllegalArgumentException(expected, wrong);
        }
        if (number < min || number > max) {
            throw new IllegalArgumentException(expected);
        }
        return number;
    }

    private static Double part(String text) {
        double part;
        try {
            part = Double.parseDouble(text);
        } catch (NumberFormatException wrong) {
            throw new IllegalArgumentException("it must be a number above 0 and up to 1", wrong);
        }
        if (!(part > 0 && part <= 1)) {
            throw new IllegalArgumentException("it must be a number above 0 and up to 1");
        }
        return part;
    }

    private static Durability durability(String text) {
        switch (text.toUpperCase(Locale.ROOT)) {
            case "SYNC":
                return Durability.DISK;
            case "META_SYNC":
                return Durability.LOG;
            case "NO_SYNC":
                return Durability.MEMORY;
            default:
                throw new IllegalArgumentException("it must be SYNC, META_SYNC or NO_SYNC");
        }
    }
}
