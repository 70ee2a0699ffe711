package org.fulgurite.rdf4j.config;

import java.util.List;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.util.Values;
import org.eclipse.rdf4j.model.vocabulary.CONFIG;

/** The properties of a store's configuration. */
public final class FulguriteStoreSchema {
    /** The namespace of the properties. */
    public static final String NAMESPACE = "tag:fulgurite.org,2026:config/";

    /** The indexes of a new store: a text such as {@code "spoc,posc"}. */
    public static final IRI TRIPLE_INDEXES = Values.iri(NAMESPACE, "tripleIndexes");

    /** What commits survive: {@code "memory"}, {@code "log"} or {@code "disk"}. */
    public static final IRI DURABILITY = Values.iri(NAMESPACE, "durability");

    /** The memory for pages that are not read through the memory map, in bytes. */
    public static final IRI CACHE_BYTES = Values.iri(NAMESPACE, "cacheBytes");

    /** How many values are kept in memory for queries that RDF4J evaluates. */
    public static final IRI VALUE_CACHE_SIZE = Values.iri(NAMESPACE, "valueCacheSize");

    /** What evaluates queries: {@code "rdf4j"} or {@code "store"}. */
    public static final IRI QUERY_ENGINE = Values.iri(NAMESPACE, "queryEngine");

    /** The limit of the memory of a query that the store evaluates, in bytes; 0 for no limit. */
    public static final IRI QUERY_MEMORY = Values.iri(NAMESPACE, "queryMemory");

    /** After how many seconds a commit starts a checkpoint; 0 for no limit. */
    public static final IRI CHECKPOINT_INTERVAL = Values.iri(NAMESPACE, "checkpointInterval");

    /** Whether the store is read-only: true or false. */
    public static final IRI READ_ONLY = Values.iri(NAMESPACE, "readOnly");

    /** The keys of {@link #NAMESPACE}. */
    static final List<IRI> KEYS = List.of(
            TRIPLE_INDEXES,
            DURABILITY,
            CACHE_BYTES,
            VALUE_CACHE_SIZE,
            QUERY_ENGINE,
            QUERY_MEMORY,
            CHECKPOINT_INTERVAL,
            READ_ONLY);

    private static final String LMDB = "http://rdf4j.org/config/sail/lmdb#";

    /** The namespace of a {@code NativeStore} up to RDF4J 4.2. */
    private static final String OLD_NATIVE = "http://www.openrdf.org/config/sail/native#";

    /** The keys of an {@code LmdbStore} and a {@code NativeStore} for indexes. */
    static final List<IRI> OTHER_TRIPLE_INDEXES = other("tripleIndexes", CONFIG.Native.tripleIndexes);

    /** Their keys for whether commits are synced. */
    static final List<IRI> OTHER_FORCE_SYNC = other("forceSync", CONFIG.Native.forceSync);

    /** Their keys for how many values are kept in memory. */
    static final List<IRI> OTHER_VALUE_CACHE_SIZE = other("valueCacheSize", CONFIG.Native.valueCacheSize);

    private FulguriteStoreSchema() {}

    private static List<IRI> other(String name, IRI ofNativeStore) {
        return List.of(Values.iri(LMDB, name), Values.iri(OLD_NATIVE, name), ofNativeStore);
    }
}
