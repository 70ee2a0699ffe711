package org.fulgurite.rdf4j.config;

import java.util.Locale;
import java.util.Objects;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Literal;
import org.eclipse.rdf4j.model.Model;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.util.Models;
import org.eclipse.rdf4j.model.util.Values;
import org.eclipse.rdf4j.sail.base.config.BaseSailConfig;
import org.eclipse.rdf4j.sail.config.SailConfigException;
import org.fulgurite.options.Durability;

/**
 * The configuration of a store. A configuration of an {@code LmdbStore} can be used after its type is changed: its
 * indexes, {@code forceSync} and {@code valueCacheSize} are applied, and its other sizes are accepted without effect.
 */
public class FulguriteStoreConfig extends BaseSailConfig {
    /** How many values are kept in memory by default. */
    public static final int VALUE_CACHE_SIZE = 1 << 14;

    /** The default limit of the memory of a query that the store evaluates: 1 GiB. */
    public static final long QUERY_MEMORY = 1 << 30;

    /** After how many seconds a commit starts a checkpoint by default. */
    public static final long CHECKPOINT_INTERVAL = 10;

    /** The allowed values of a switch, for errors. */
    private static final String BOOLEAN = "true or false";

    /** The allowed values of a cache size, for errors. */
    private static final String INT = "a whole number up to " + Integer.MAX_VALUE;

    /** The indexes of the store, or empty for the default. */
    private String tripleIndexes = "";

    private Durability durability = Durability.DISK;
    private long cacheBytes;

    /** The number of values, or -1 for the default. */
    private int valueCacheSize = -1;

    private QueryEngine queryEngine = QueryEngine.RDF4J;
    private long queryMemory = QUERY_MEMORY;
    private long checkpointInterval = CHECKPOINT_INTERVAL;
    private boolean readOnly;

    // Settings of an LmdbStore that have no effect here. Programs can set and read them.
    private long tripleDBSize;
    private long valueDBSize;
    private int valueIDCacheSize;
    private int namespaceCacheSize;
    private int namespaceIDCacheSize;
    private boolean autoGrow = true;
    private long valueEvictionInterval;

    /** Creates a configuration with the defaults. */
    public FulguriteStoreConfig() {
        super(FulguriteStoreFactory.SAIL_TYPE);
    }

    /**
     * Creates a configuration with indexes.
     *
     * @param tripleIndexes as {@link #setTripleIndexes}
     */
    public FulguriteStoreConfig(String tripleIndexes) {
        this();
        setTripleIndexes(tripleIndexes);
    }

    /**
     * Creates a configuration with indexes and a durability.
     *
     * @param tripleIndexes as {@link #setTripleIndexes}
     * @param forceSync as {@link #setForceSync}
     */
    public FulguriteStoreConfig(String tripleIndexes, boolean forceSync) {
        this(tripleIndexes);
        setForceSync(forceSync);
    }

    /**
     * Returns the indexes of a new store.
     *
     * @return the indexes, or an empty text for the default
     */
    public String getTripleIndexes() {
        return tripleIndexes;
    }

    /**
     * Sets the indexes of a new store: orders of {@code s}, {@code p}, {@code o} and {@code c}, separated by commas,
     * such as {@code spoc,posc}. An existing store keeps its indexes. By default, every pattern has an index.
     *
     * @param indexes the indexes
     * @return this configuration
     */
    public FulguriteStoreConfig setTripleIndexes(String indexes) {
        tripleIndexes = Objects.requireNonNull(indexes, "indexes").trim();
        return this;
    }

    /**
     * Returns what commits survive.
     *
     * @return the durability
     */
    public Durability getDurability() {
        return durability;
    }

    /**
     * Sets what commits survive. The default is {@link Durability#DISK}: a power cut.
     *
     * @param newDurability the durability
     * @return this configuration
     */
    public FulguriteStoreConfig setDurability(Durability newDurability) {
        durability = Objects.requireNonNull(newDurability, "durability");
        return this;
    }

    /**
     * Returns whether commits survive a power cut.
     *
     * @return whether the durability is {@link Durability#DISK}
     */
    public boolean getForceSync() {
        return durability == Durability.DISK;
    }

    /**
     * Sets whether commits survive a power cut, as for an {@code LmdbStore}. Otherwise they survive only a crash of the
     * process.
     *
     * @param forceSync true for {@link Durability#DISK}, false for {@link Durability#LOG}
     * @return this configuration
     */
    public FulguriteStoreConfig setForceSync(boolean forceSync) {
        return setDurability(forceSync ? Durability.DISK : Durability.LOG);
    }

    /**
     * Returns the memory for pages that are not read through the memory map.
     *
     * @return the bytes, or 0 for the default, 64 MiB
     */
    public long getCacheBytes() {
        return cacheBytes;
    }

    /**
     * Sets the memory for pages that are not read through the memory map.
     *
     * @param bytes the bytes, or 0 for the default, 64 MiB
     * @return this configuration
     * @throws IllegalArgumentException if it is negative
     */
    public FulguriteStoreConfig setCacheBytes(long bytes) {
        if (bytes < 0) {
            throw new IllegalArgumentException("cacheBytes is " + bytes + "; it must not be negative");
        }
        cacheBytes = bytes;
        return this;
    }

    /**
     * Returns how many values are kept in memory for queries that RDF4J evaluates.
     *
     * @return the number of values, or 0 if none are kept
     */
    public int getValueCacheSize() {
        return valueCacheSize < 0 ? VALUE_CACHE_SIZE : valueCacheSize;
    }

    /**
     * Sets how many values are kept in memory for queries that RDF4J evaluates, so that their texts are not read again.
     * Values with more than 512 characters are not kept. The default is {@link #VALUE_CACHE_SIZE}.
     *
     * @param size the number of values, which is rounded up to a power of two, and at most 16,777,216; 0 to keep none,
     *     a negative number for the default
     * @return this configuration
     */
    public FulguriteStoreConfig setValueCacheSize(int size) {
        valueCacheSize = size;
        return this;
    }

    /**
     * Returns what evaluates queries.
     *
     * @return the query engine
     */
    public QueryEngine getQueryEngine() {
        return queryEngine;
    }

    /**
     * Sets what evaluates queries. The default is {@link QueryEngine#RDF4J}.
     *
     * @param engine the query engine
     * @return this configuration
     */
    public FulguriteStoreConfig setQueryEngine(QueryEngine engine) {
        queryEngine = Objects.requireNonNull(engine, "engine");
        return this;
    }

    /**
     * Returns the limit of the memory of a query that the store evaluates.
     *
     * @return the bytes, or 0 for no limit
     */
    public long getQueryMemory() {
        return queryMemory;
    }

    /**
     * Limits the memory of a query that the store evaluates ({@link QueryEngine#STORE}). A query that needs more ends
     * with an exception. The memory is outside of Java's heap, and each concurrent query may use as much. The default
     * is {@link #QUERY_MEMORY}.
     *
     * @param bytes the bytes, or 0 for no limit
     * @return this configuration
     * @throws IllegalArgumentException if it is negative
     */
    public FulguriteStoreConfig setQueryMemory(long bytes) {
        if (bytes < 0) {
            throw new IllegalArgumentException("queryMemory is " + bytes + "; it must not be negative");
        }
        queryMemory = bytes;
        return this;
    }

    /**
     * Returns after how many seconds a commit starts a checkpoint.
     *
     * @return the seconds, or 0 for no limit
     */
    public long getCheckpointInterval() {
        return checkpointInterval;
    }

    /**
     * Sets how many seconds after a commit a checkpoint starts. Programs that read the file while the store is open,
     * such as {@code fulgurite rdf query}, see the newest checkpoint. While nothing is committed, nothing is written.
     * The default is {@link #CHECKPOINT_INTERVAL}. Without a limit, a checkpoint starts when commits fill the memory
     * for them, and when the store is shut down.
     *
     * @param seconds the seconds, or 0 for no limit
     * @return this configuration
     * @throws IllegalArgumentException if it is negative
     */
    public FulguriteStoreConfig setCheckpointInterval(long seconds) {
        if (seconds < 0) {
            throw new IllegalArgumentException("checkpointInterval is " + seconds + "; it must not be negative");
        }
        checkpointInterval = seconds;
        return this;
    }

    /**
     * Returns whether the store is read-only.
     *
     * @return whether it is
     */
    public boolean isReadOnly() {
        return readOnly;
    }

    /**
     * Sets whether the store is read-only. Its file must exist. Another process may have it open for writing: then
     * reads show the newest checkpoint from before {@code init()}. Otherwise they show all commits. To see a newer
     * state, shut down all objects of the process that have the file open, and initialize them again. Changes throw a
     * {@code SailReadOnlyException}. The default is false.
     *
     * <p>With it, {@link #setDurability}, {@link #setCheckpointInterval} and {@link #setTripleIndexes} have no effect.
     *
     * @param isReadOnly whether it is read-only
     * @return this configuration
     */
    public FulguriteStoreConfig setReadOnly(boolean isReadOnly) {
        readOnly = isReadOnly;
        return this;
    }

    /**
     * Returns what {@link #setTripleDBSize} has set.
     *
     * @return the bytes
     */
    public long getTripleDBSize() {
        return tripleDBSize;
    }

    /**
     * Has no effect: the file has no maximum size. It is for programs that were written for an {@code LmdbStore}.
     *
     * @param bytes the bytes
     * @return this configuration
     */
    public FulguriteStoreConfig setTripleDBSize(long bytes) {
        tripleDBSize = bytes;
        return this;
    }

    /**
     * Returns what {@link #setValueDBSize} has set.
     *
     * @return the bytes
     */
    public long getValueDBSize() {
        return valueDBSize;
    }

    /**
     * Has no effect, as {@link #setTripleDBSize}.
     *
     * @param bytes the bytes
     * @return this configuration
     */
    public FulguriteStoreConfig setValueDBSize(long bytes) {
        valueDBSize = bytes;
        return this;
    }

    /**
     * Returns what {@link #setValueIDCacheSize} has set.
     *
     * @return the number of ids
     */
    public int getValueIDCacheSize() {
        return valueIDCacheSize;
    }

    /**
     * Has no effect: the store has no such cache. It is for programs that were written for an {@code LmdbStore}.
     *
     * @param size the number of ids
     * @return this configuration
     */
    public FulguriteStoreConfig setValueIDCacheSize(int size) {
        valueIDCacheSize = size;
        return this;
    }

    /**
     * Returns what {@link #setNamespaceCacheSize} has set.
     *
     * @return the number of namespaces
     */
    public int getNamespaceCacheSize() {
        return namespaceCacheSize;
    }

    /**
     * Has no effect, as {@link #setValueIDCacheSize}.
     *
     * @param size the number of namespaces
     * @return this configuration
     */
    public FulguriteStoreConfig setNamespaceCacheSize(int size) {
        namespaceCacheSize = size;
        return this;
    }

    /**
     * Returns what {@link #setNamespaceIDCacheSize} has set.
     *
     * @return the number of ids
     */
    public int getNamespaceIDCacheSize() {
        return namespaceIDCacheSize;
    }

    /**
     * Has no effect, as {@link #setValueIDCacheSize}.
     *
     * @param size the number of ids
     * @return this configuration
     */
    public FulguriteStoreConfig setNamespaceIDCacheSize(int size) {
        namespaceIDCacheSize = size;
        return this;
    }

    /**
     * Returns what {@link #setAutoGrow} has set; true by default.
     *
     * @return the setting
     */
    public boolean getAutoGrow() {
        return autoGrow;
    }

    /**
     * Has no effect: the file always grows. It is for programs that were written for an {@code LmdbStore}.
     *
     * @param grows the setting
     * @return this configuration
     */
    public FulguriteStoreConfig setAutoGrow(boolean grows) {
        autoGrow = grows;
        return this;
    }

    /**
     * Returns what {@link #setValueEvictionInterval} has set.
     *
     * @return the interval in milliseconds
     */
    public long getValueEvictionInterval() {
        return valueEvictionInterval;
    }

    /**
     * Has no effect: {@code FulguriteStore.sweep()} removes values that no statement uses. It is for programs that were
     * written for an {@code LmdbStore}.
     *
     * @param milliseconds the interval in milliseconds
     * @return this configuration
     */
    public FulguriteStoreConfig setValueEvictionInterval(long milliseconds) {
        valueEvictionInterval = milliseconds;
        return this;
    }

    /**
     * Returns the indexes in the form of the native library: {@code spoc} becomes {@code spo} for the default graph and
     * {@code spog} for named graphs.
     *
     * @return the indexes, separated by commas; empty for the default
     */
    public String nativeIndexes() {
        if (tripleIndexes.isEmpty()) {
            return "";
        }
        TreeSet<String> names = new TreeSet<>();
        for (String given : tripleIndexes.split("[,\\s]+")) {
            String order = given.toLowerCase(Locale.ROOT);
            if (order.length() != 4 || !order.chars().sorted().mapToObj(c -> "" + (char) c)
                    .collect(Collectors.joining()).equals("cops")) {
                throw new SailConfigException(
                        "`" + given + "` is not an index; use orders of s, p, o and c, such as spoc,posc");
            }
            names.add(order.replace('c', 'g'));
            names.add(order.replace("c", ""));
        }
        return String.join(",", names);
    }

    @Override
    public void validate() {
        super.validate();
        nativeIndexes();
    }

    @Override
    public Resource export(Model model) {
        Resource node = super.export(model);
        model.setNamespace("ful", FulguriteStoreSchema.NAMESPACE);
        if (!tripleIndexes.isEmpty()) {
            model.add(node, FulguriteStoreSchema.TRIPLE_INDEXES, Values.literal(tripleIndexes));
        }
        if (durability != Durability.DISK) {
            String name = durability.name().toLowerCase(Locale.ROOT);
            model.add(node, FulguriteStoreSchema.DURABILITY, Values.literal(name));
        }
        if (cacheBytes > 0) {
            model.add(node, FulguriteStoreSchema.CACHE_BYTES, Values.literal(cacheBytes));
        }
        if (valueCacheSize >= 0) {
            model.add(node, FulguriteStoreSchema.VALUE_CACHE_SIZE, Values.literal(valueCacheSize));
        }
        if (queryEngine != QueryEngine.RDF4J) {
            String name = queryEngine.name().toLowerCase(Locale.ROOT);
            model.add(node, FulguriteStoreSchema.QUERY_ENGINE, Values.literal(name));
        }
        if (queryMemory != QUERY_MEMORY) {
            model.add(node, FulguriteStoreSchema.QUERY_MEMORY, Values.literal(queryMemory));
        }
        if (checkpointInterval != CHECKPOINT_INTERVAL) {
            model.add(node, FulguriteStoreSchema.CHECKPOINT_INTERVAL, Values.literal(checkpointInterval));
        }
        if (readOnly) {
            model.add(node, FulguriteStoreSchema.READ_ONLY, Values.literal(true));
        }
        return node;
    }

    @Override
    public void parse(Model model, Resource node) {
        super.parse(model, node);
        refuseUnknown(model, node);
        for (IRI key : FulguriteStoreSchema.OTHER_TRIPLE_INDEXES) {
            parseIndexes(model, node, key);
        }
        for (IRI key : FulguriteStoreSchema.OTHER_FORCE_SYNC) {
            literal(model, node, key, BOOLEAN, value -> setForceSync(value.booleanValue()));
        }
        for (IRI key : FulguriteStoreSchema.OTHER_VALUE_CACHE_SIZE) {
            literal(model, node, key, INT, value -> setValueCacheSize(value.intValue()));
        }
        parseIndexes(model, node, FulguriteStoreSchema.TRIPLE_INDEXES);
        literal(
                model,
                node,
                FulguriteStoreSchema.CACHE_BYTES,
                "a number of bytes, at least 0 (0 for the default)",
                value -> setCacheBytes(value.longValue()));
        literal(model, node, FulguriteStoreSchema.VALUE_CACHE_SIZE, INT, value ->
                setValueCacheSize(value.intValue()));
        literal(
                model,
                node,
                FulguriteStoreSchema.QUERY_MEMORY,
                "a number of bytes, at least 0 (0 for no limit)",
                value -> setQueryMemory(value.longValue()));
        literal(
                model,
                node,
                FulguriteStoreSchema.CHECKPOINT_INTERVAL,
                "a whole number of seconds, at least 0 (0 for no limit)",
                value -> setCheckpointInterval(value.longValue()));
        literal(model, node, FulguriteStoreSchema.READ_ONLY, BOOLEAN, value -> setReadOnly(value.booleanValue()));
        literal(model, node, FulguriteStoreSchema.DURABILITY, names(Durability.values()), value ->
                setDurability(Durability.valueOf(value.getLabel().toUpperCase(Locale.ROOT))));
        literal(model, node, FulguriteStoreSchema.QUERY_ENGINE, names(QueryEngine.values()), value ->
                setQueryEngine(QueryEngine.valueOf(value.getLabel().toUpperCase(Locale.ROOT))));
    }

    /**
     * Throws an exception for an unknown key in this store's namespace, such as a misspelled one, and for one with
     * several values.
     */
    private static void refuseUnknown(Model model, Resource node) {
        for (Statement statement : model.getStatements(node, null, null)) {
            IRI key = statement.getPredicate();
            if (!key.stringValue().startsWith(FulguriteStoreSchema.NAMESPACE)) {
                continue;
            }
            if (!FulguriteStoreSchema.KEYS.contains(key)) {
                String known =
                        FulguriteStoreSchema.KEYS.stream().map(IRI::getLocalName).collect(Collectors.joining(", "));
                throw new SailConfigException(key + " is not a key of a FulguriteStore; its keys are " + known);
            }
            int count = model.filter(node, key, null).objects().size();
            if (count > 1) {
                throw new SailConfigException("<" + key + "> has " + count + " values; it must have one");
            }
        }
    }

    /** {@link #validate} checks the indexes. */
    private void parseIndexes(Model model, Resource node, IRI key) {
        Models.objectLiteral(model.getStatements(node, key, null))
                .ifPresent(value -> setTripleIndexes(value.getLabel()));
    }

    /** The names of values in configurations: {@code "memory", "log" or "disk"}. */
    private static String names(Enum<?>[] values) {
        StringBuilder names = new StringBuilder();
        for (Enum<?> value : values) {
            boolean isLast = value.ordinal() == values.length - 1;
            names.append(names.length() == 0 ? "" : isLast ? " or " : ", ");
            names.append('"').append(value.name().toLowerCase(Locale.ROOT)).append('"');
        }
        return names.toString();
    }

    /** Uses the literal of a key, if there is one. An error names the key, the value, and what is allowed. */
    private static void literal(Model model, Resource node, IRI key, String allowed, Consumer<Literal> use) {
        Models.objectLiteral(model.getStatements(node, key, null)).ifPresent(value -> {
            try {
                use.accept(value);
            } catch (IllegalArgumentException error) {
                throw new SailConfigException(
                        "<" + key + "> is \"" + value.getLabel() + "\"; it must be " + allowed, error);
            }
        });
    }
}
