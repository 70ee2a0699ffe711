package org.fulgurite.rdf4j.config;

/** What evaluates SPARQL queries. */
public enum QueryEngine {
    /** RDF4J's evaluation, with its functions, federation and evaluation modes. */
    RDF4J,

    /**
     * The store's own evaluation, which is faster. RDF4J still evaluates {@code DESCRIBE}, queries with {@code FROM},
     * {@code SERVICE}, or functions that SPARQL does not define, queries in a transaction that has changes, and syntax
     * that only RDF4J has. A query can have as much memory as {@link FulguriteStoreConfig#setQueryMemory} allows.
     */
    STORE
}
