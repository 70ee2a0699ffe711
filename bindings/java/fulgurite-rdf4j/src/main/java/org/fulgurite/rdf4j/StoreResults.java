package org.fulgurite.rdf4j;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;
import org.eclipse.rdf4j.common.iteration.CloseableIteration;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.vocabulary.RDF4J;
import org.eclipse.rdf4j.model.vocabulary.SESAME;
import org.eclipse.rdf4j.query.Binding;
import org.eclipse.rdf4j.query.BindingSet;
import org.eclipse.rdf4j.query.Dataset;
import org.eclipse.rdf4j.query.QueryInterruptedException;
import org.eclipse.rdf4j.query.impl.ListBindingSet;
import org.eclipse.rdf4j.sail.SailException;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.internal.Handle;
import org.fulgurite.internal.NativeQuads;
import org.fulgurite.rdf4j.internal.Interrupts;
import org.fulgurite.rdf4j.internal.SailErrors;
import org.fulgurite.rdf4j.queries.RowValues;
import org.fulgurite.rdf4j.queries.StoreQuery;
import org.fulgurite.rdf4j.values.TermBytes;
import org.fulgurite.rdf4j.values.TermReader;
import org.fulgurite.rdf4j.values.TermSource;

/**
 * The results of a query that the store evaluates: see {@code crates/java/src/quads/objects/query.rs}. One thread reads
 * it. Another thread may close it, for example after a time-out, which ends the evaluation.
 *
 * <p>Rows come as terms, or as ids whose terms are read when they are needed, also after the result is closed: ids of
 * committed terms keep their meaning until a sweep. The store reads the rest before a sweep, and before it is closed.
 */
final class StoreResults implements CloseableIteration<BindingSet> {
    /** In the first byte of a batch: it is the last one. */
    private static final int LAST = 1;

    /** In the first byte of a batch: its rows are ids. */
    private static final int IDS = 2;

    private final Handle handle;

    /** Where terms of ids are read: the caller closes the view before the first row is read. */
    private final TermSource committed;

    /** The names of the variables; null before the first batch. */
    private List<String> names;

    /** The rows of the current batch that were not read yet. */
    private int rows;

    private TermReader terms;

    /** The ids of the current batch, row by row; null if its rows are terms. */
    private long[] ids;

    /** The values of the ids; null before the first rows of ids. */
    private RowValues values;

    /** The computed terms of the current batch. */
    private Value[] computed;

    /** The position of the next row in the current batch. */
    private int row;

    private boolean isLast;
    private volatile boolean isClosed;

    private StoreResults(FulguriteStore store, long raw) {
        this.handle = store.result(this, raw);
        this.committed = store.committedTerms();
    }

    /**
     * Begins to evaluate a query. Returns null if the store does not have its syntax.
     *
     * @param kinds as in {@link QuadPattern}
     */
    static StoreResults of(
            FulguriteStore store, StoreView view, StoreQuery query, Dataset dataset, BindingSet bindings, int kinds) {
        TermBytes given = new TermBytes();
        append(given, dataset);
        given.number(bindings.size());
        for (Binding binding : bindings) {
            given.text(binding.getName()).term(binding.getValue());
        }
        long raw = NativeQuads.query(
                view.raw(), query.text(), query.base(), given.array(), given.length(), kinds, store.queryMemory());
        return raw == 0 ? null : new StoreResults(store, raw);
    }

    private static void append(TermBytes given, Dataset dataset) {
        boolean isGiven = dataset != null
                && !(dataset.getDefaultGraphs().isEmpty() && dataset.getNamedGraphs().isEmpty());
        given.flag(isGiven);
        if (isGiven) {
            appendGraphs(given, dataset.getDefaultGraphs());
            appendGraphs(given, dataset.getNamedGraphs());
        }
    }

    private static void appendGraphs(TermBytes given, Set<IRI> graphs) {
        given.number(graphs.size());
        for (IRI graph : graphs) {
            if (RDF4J.NIL.equals(graph) || SESAME.NIL.equals(graph)) {
                given.defaultGraph();
            } else {
                given.term(graph);
            }
        }
    }

    @Override
    public boolean hasNext() {
        while (!isClosed && rows == 0) {
            if (isLast) {
                close();
            } else {
                fetch();
            }
        }
        return !isClosed;
    }

    private void fetch() {
        byte[] batch = null;
        while (batch == null) {
            Interrupts.check(text -> {
                close();
                return new QueryInterruptedException(text);
            });
            try {
                batch = NativeQuads.nextSolutions(handle.raw());
            } catch (FulguriteException error) {
                if (isClosed) {
                    return;
                }
                close();
                throw SailErrors.of(error);
            }
        }
        terms = new TermReader(batch);
        int flags = terms.flags();
        isLast = (flags & LAST) != 0;
        if (names == null) {
            names = new ArrayList<>();
            for (int left = terms.number(); left > 0; left--) {
                names.add(terms.text());
            }
        }
        rows = terms.number();
        row = 0;
        ids = null;
        if ((flags & IDS) != 0) {
            readIds(batch);
        }
    }

    private void readIds(byte[] batch) {
        computed = new Value[terms.number()];
        for (int index = 0; index < computed.length; index++) {
            computed[index] = terms.term();
        }
        ids = new long[names.size() * rows];
        int bytes = Long.BYTES * ids.length;
        ByteBuffer.wrap(batch, batch.length - bytes, bytes).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(ids);
        if (rows == 0) {
            return;
        }
        boolean isFirst = values == null;
        if (isFirst) {
            values = new RowValues(committed, names.size());
        }
        values.begin(ids, rows, isFirst);
        for (int column = 0; column < names.size(); column++) {
            values.add(column);
        }
        values.end();
    }

    /** The value of a variable in the next row of ids; null if it is unbound. */
    private Value value(int column) {
        long id = ids[names.size() * row + column];
        if (id == 0) {
            return null;
        }
        // The lower half of a number below 0 is a position.
        return id < 0 ? computed[(int) id] : values.get(row, column);
    }

    @Override
    public BindingSet next() {
        if (isClosed) {
            throw new SailException("the result is closed");
        }
        if (!hasNext()) {
            throw new NoSuchElementException("there are no more results");
        }
        Value[] solution = new Value[names.size()];
        for (int column = 0; column < solution.length; column++) {
            solution[column] = ids == null ? terms.optionalTerm() : value(column);
        }
        rows--;
        row++;
        return new ListBindingSet(names, solution);
    }

    @Override
    public void remove() {
        throw new UnsupportedOperationException("results cannot be removed");
    }

    @Override
    public void close() {
        isClosed = true;
        handle.close();
    }
}
