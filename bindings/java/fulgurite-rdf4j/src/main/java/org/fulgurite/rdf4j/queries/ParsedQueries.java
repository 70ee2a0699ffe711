package org.fulgurite.rdf4j.queries;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.eclipse.rdf4j.query.Query.QueryType;
import org.eclipse.rdf4j.query.QueryLanguage;

/**
 * Parses queries for the store's own evaluation, and keeps those that were used last: RDF4J's parser takes longer than
 * many queries, and programs repeat texts. Several threads can use it.
 */
public final class ParsedQueries {
    private static final int QUERIES_MAX = 256;

    /** Queries with longer texts are not kept. */
    private static final int LENGTH_MAX = 16 * 1024;

    /** By type, text and base; nothing for queries that RDF4J has to evaluate. */
    private final Map<List<Object>, Optional<StoreQuery>> queries = new Recent();

    /** Parses a query. Returns nothing if it is of another type, or RDF4J has to evaluate it. */
    public Optional<StoreQuery> parse(QueryLanguage language, QueryType type, String text, String base) {
        if (!QueryLanguage.SPARQL.equals(language)) {
            return Optional.empty();
        }
        List<Object> key = Arrays.asList(type, text, base);
        Optional<StoreQuery> parsed;
        synchronized (queries) {
            parsed = queries.get(key);
        }
        if (parsed == null) {
            parsed = StoreQuery.parse(type, text, base);
            if (text.length() <= LENGTH_MAX) {
                synchronized (queries) {
                    queries.put(key, parsed);
                }
            }
        }
        // Programs can change the query that they get.
        return parsed.map(StoreQuery::clone);
    }

    /** Removes the query that was not used for the longest time. */
    private static final class Recent extends LinkedHashMap<List<Object>, Optional<StoreQuery>> {
        private static final long serialVersionUID = 1L;

        Recent() {
            super(16, 0.75f, true);
        }

        @Override
        protected boolean removeEldestEntry(Map.Entry<List<Object>, Optional<StoreQuery>> eldest) {
            return size() > QUERIES_MAX;
        }
    }
}
