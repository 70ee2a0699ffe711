package org.fulgurite.rdf4j.config;

import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.util.Values;

/** The properties of a store's configuration. */
public final class FulguriteStoreSchema {
    /** The namespace of the properties. */
    public static final String NAMESPACE = "tag:fulgurite.org,2026:config/";

    /** The indexes of a new store: a text such as {@code "spoc,posc"}. */
    public static final IRI TRIPLE_INDEXES = Values.iri(NAMESPACE, "tripleIndexes");

    /** What commits survive: {@code "memory"}, {@code "log"} or {@code "disk"}. */
    public static final IRI DURABILITY = Values.iri(NAMESPACE, "durability");

    /** The memory for pages that are not read through the map, in bytes. */
    public static final IRI CACHE_BYTES = Values.iri(NAMESPACE, "cacheBytes");

    /** What evaluates queries: {@code "rdf4j"} or {@code "store"}. */
    public static final IRI QUERY_ENGINE = Values.iri(NAMESPACE, "queryEngine");

    private static final String LMDB = "http://rdf4j.org/config/sail/lmdb#";

    /** The indexes of an {@code LmdbStore}. */
    static final IRI LMDB_TRIPLE_INDEXES = Values.iri(LMDB, "tripleIndexes");

    /** Whether an {@code LmdbStore} syncs commits. */
    static final IRI LMDB_FORCE_SYNC = Values.iri(LMDB, "forceSync");

    private FulguriteStoreSchema() {}
}
