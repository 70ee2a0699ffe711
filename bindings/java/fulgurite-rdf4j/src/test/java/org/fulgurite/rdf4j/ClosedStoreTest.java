package org.fulgurite.rdf4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.util.Values;
import org.eclipse.rdf4j.model.vocabulary.RDF;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.repository.sail.SailRepositoryConnection;
import org.eclipse.rdf4j.sail.SailException;
import org.fulgurite.rdf4j.config.FulguriteStoreConfig;
import org.fulgurite.rdf4j.config.QueryEngine;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Values of a store that was shut down. */
class ClosedStoreTest {
    private static final int COUNT = 200;

    @TempDir
    Path directory;

    @ParameterizedTest
    @EnumSource(QueryEngine.class)
    void valuesOfResultsCanBeUsedAfterTheStoreIsShutDown(QueryEngine engine) {
        FulguriteStoreConfig config =
                new FulguriteStoreConfig().setValueCacheSize(0).setQueryEngine(engine);
        FulguriteStore store = new FulguriteStore(directory.toFile(), config);
        SailRepository repository = new SailRepository(store);
        List<Value> values;
        try (SailRepositoryConnection connection = repository.getConnection()) {
            connection.begin();
            for (int number = 0; number < COUNT; number++) {
                connection.add(RDF.NIL, RDF.VALUE, literal(number));
            }
            connection.commit();
            values = connection.prepareTupleQuery("SELECT ?o { ?s ?p ?o }").evaluate().stream()
                    .map(row -> row.getValue("o"))
                    .collect(Collectors.toList());
            // The values do not need the state that they were read from.
            connection.clear();
        }
        StoreView view = store.snapshot();
        repository.shutDown();
        assertEquals(COUNT, values.size());
        for (int number = 0; number < COUNT; number++) {
            Value expected = literal(number);
            int at = values.indexOf(expected);
            assertEquals(expected.hashCode(), values.get(at).hashCode());
            assertEquals(expected.toString(), values.get(at).toString());
            assertFalse(values.get(at).equals(RDF.NIL));
        }
        assertThrows(SailException.class, () -> view.terms(new long[] {1}, 1));
        try (SailRepositoryConnection connection = repository.getConnection()) {
            connection.add(RDF.NIL, RDF.VALUE, values.get(0));
            assertEquals(1, connection.size());
        }
        repository.shutDown();
    }

    private static Value literal(int number) {
        return Values.literal("a text that is longer than an id " + number);
    }
}
