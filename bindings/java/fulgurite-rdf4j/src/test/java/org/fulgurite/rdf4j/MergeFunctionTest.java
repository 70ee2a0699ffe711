package org.fulgurite.rdf4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.util.Values;
import org.eclipse.rdf4j.repository.sail.SailRepository;
import org.eclipse.rdf4j.repository.sail.SailRepositoryConnection;
import org.fulgurite.Database;
import org.fulgurite.DatabaseOptions;
import org.fulgurite.Table;
import org.fulgurite.TableOptions;
import org.fulgurite.WriteTransaction;
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.internal.NativeQuads;
import org.fulgurite.rdf4j.internal.IdRows;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A merge function of a database that reads a store. While it runs, its thread must not wait for a lock. */
class MergeFunctionTest {
    private static final IRI KNOWS = Values.iri("http://example.org/knows");
    private static final int NODES = 12;

    @TempDir
    Path directory;

    private static void fill(SailRepositoryConnection connection) {
        connection.begin();
        for (int from = 0; from < NODES; from++) {
            for (int to = 0; to < NODES; to++) {
                connection.add(
                        Values.iri("http://example.org/" + from), KNOWS, Values.iri("http://example.org/" + to));
            }
        }
        connection.commit();
    }

    /** A join of two patterns that has more rows than one batch. */
    private static long join(StoreView view, long[] rows) {
        long knows = view.id(KNOWS);
        long first = IdRows.VARIABLE;
        long[] patterns = {
            first, knows, first - 1, IdRows.ANY_GRAPH,
            first - 1, knows, first - 2, IdRows.ANY_GRAPH
        };
        return view.join(patterns, QuadPattern.ALL, rows);
    }

    private static long[] room() {
        return new long[3 * IdRows.FIRST_ROWS + 1];
    }

    /** Begins a join, tries to read on, and closes it. Returns the number of rows that it has read. */
    private static long readAndClose(FulguriteStore store) {
        try (StoreView view = store.snapshot()) {
            long[] rows = room();
            long join = join(view, rows);
            assertNotEquals(0, join);
            FulguriteException refused =
                    assertThrows(FulguriteException.class, () -> NativeQuads.nextJoined(join, rows));
            assertTrue(refused.getMessage().contains("a merge function"), refused.getMessage());
            view.close(join);
            FulguriteException closed =
                    assertThrows(FulguriteException.class, () -> NativeQuads.nextJoined(join, rows));
            assertEquals(ErrorKind.CLOSED, closed.kind());
            return rows[rows.length - 1];
        }
    }

    @Test
    void aMergeFunctionCanBeginAJoinAndCloseItButNotReadOn() {
        FulguriteStore store = new FulguriteStore(directory.resolve("store").toFile());
        SailRepository repository = new SailRepository(store);
        List<Long> read = new ArrayList<>();
        DatabaseOptions options = Database.options().create(true).mergeFunction("joining", (key, value, operands) -> {
            read.add(readAndClose(store));
            return operands.get(0);
        });
        try (Database database = options.open(directory.resolve("a.ful"));
                SailRepositoryConnection connection = repository.getConnection()) {
            fill(connection);
            Table table = database.createTable("t", new TableOptions().mergeFunction("joining"));
            byte[] key = {1};
            try (WriteTransaction txn = database.beginWrite()) {
                txn.merge(table, key, new byte[] {7});
                assertEquals(7, txn.get(table, key)[0]);
            }
            assertEquals(List.of((long) IdRows.FIRST_ROWS), read);
            // Outside of a merge function the same join is read to its end.
            try (StoreView view = store.snapshot()) {
                long[] rows = room();
                long join = join(view, rows);
                long count = rows[rows.length - 1];
                boolean hasMore = true;
                while (hasMore) {
                    hasMore = NativeQuads.nextJoined(join, rows);
                    count += rows[rows.length - 1];
                }
                view.close(join);
                assertEquals(NODES * NODES * NODES, count);
            }
        } finally {
            repository.shutDown();
        }
    }
}
