package org.fulgurite.rdf4j;

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
import org.fulgurite.rdf4j.internal.SailErrors;
import org.fulgurite.rdf4j.queries.StoreQuery;
import org.fulgurite.rdf4j.values.TermBytes;
import org.fulgurite.rdf4j.values.TermReader;

/**
 * The results of a query that the store evaluates: see {@code crates/java/src/quads/objects/query.rs}. One thread reads
 * it. Another thread may close it, for example after a time-out, which ends the evaluation.
 */
final class StoreResults implements CloseableIteration<BindingSet> {
    private final Handle handle;

    /** The names of the variables; null before the first batch. */
    private List<String> names;

    /** The rows of the current batch that were not read yet. */
    private int rows;

    private TermReader terms;
    private boolean isLast;
    private volatile boolean isClosed;

    private StoreResults(FulguriteStore store, long raw) {
        this.handle = store.result(this, raw);
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
        long raw = NativeQuads.query(view.raw(), query.text(), query.base(), given.array(), given.length(), kinds);
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
            if (Thread.interrupted()) {
                close();
                throw new QueryInterruptedException("the thread that reads the results was interrupted");
            }
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
        isLast = terms.flag();
        if (names == null) {
            names = new ArrayList<>();
            for (int left = terms.number(); left > 0; left--) {
                names.add(terms.text());
            }
        }
        rows = terms.number();
    }

    @Override
    public BindingSet next() {
        if (isClosed) {
            throw new SailException("the result is closed");
        }
        if (!hasNext()) {
            throw new NoSuchElementException("there are no more results");
        }
        rows--;
        Value[] values = new Value[names.size()];
        for (int index = 0; index < values.length; index++) {
            values[index] = terms.optionalTerm();
        }
        return new ListBindingSet(names, values);
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
