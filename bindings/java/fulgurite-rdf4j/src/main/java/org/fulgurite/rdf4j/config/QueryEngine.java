package org.fulgurite.rdf4j.config;

/** What evaluates SPARQL queries. */
public enum QueryEngine {
    /** RDF4J's evaluation, with its functions, federation and evaluation modes. */
    RDF4J,

    /**
     * The store's own evaluation. It is faster for queries on ids: joins, simple filters, groups with aggregates, and
     * paths from a given end. RDF4J still evaluates updates, {@code DESCRIBE}, queries with {@code FROM}, {@code
     * SERVICE}, or functions that SPARQL does not define, syntax that only RDF4J has, queries with a binding for a
     * variable that is not in the result, queries in a transaction that has changes, and all queries in a transaction
     * at {@code SNAPSHOT} or {@code SERIALIZABLE}. {@link FulguriteStoreConfig#setQueryMemory} limits the memory of
     * each query.
     */
    STORE
}
