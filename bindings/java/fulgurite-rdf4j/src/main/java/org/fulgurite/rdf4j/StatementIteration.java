package org.fulgurite.rdf4j;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Function;
import org.eclipse.rdf4j.common.iteration.CloseableIteration;
import org.eclipse.rdf4j.common.order.StatementOrder;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.ValueFactory;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;
import org.fulgurite.internal.NativeQuads;
import org.fulgurite.rdf4j.internal.IdRows;
import org.fulgurite.rdf4j.internal.Interrupts;
import org.fulgurite.rdf4j.internal.SailErrors;
import org.fulgurite.rdf4j.queries.RowValues;

/**
 * The statements of a pattern. It fetches rows of ids in growing batches ({@link IdRows}), and their terms when they
 * are needed ({@link RowValues}). Without an order, it reads one graph after the other. In an order, the statements of
 * all graphs are merged: a merge join of RDF4J leaves out solutions if a statement comes too late.
 *
 * <p>It is for one thread: {@link ResultIteration} lets others close a result.
 */
final class StatementIteration implements CloseableIteration<Statement> {
    private static final ValueFactory VALUES = SimpleValueFactory.getInstance();
    private static final int COLUMNS = 4;
    private static final int SUBJECT = 0;
    private static final int PREDICATE = 1;
    private static final int OBJECT = 2;
    private static final int CONTEXT = 3;

    /** The array for the first rows of a graph, which are copied before the next call: most patterns have few. */
    private static final ThreadLocal<long[]> FIRST =
            ThreadLocal.withInitial(() -> new long[COLUMNS * IdRows.FIRST_ROWS + 1]);

    private final QuadPattern pattern;
    private final StatementOrder order;
    private final Function<String, ? extends RuntimeException> whenInterrupted;
    private final RowValues values;

    /** Four ids a row. If more rows follow, there is room for a batch, and an element for its number of rows. */
    private long[] rows;

    private int count;
    private int row;
    private int graph = -1;
    private long iterator;

    /** The rest of the rows, if no index has them in the order; null otherwise, and at their end. */
    private Iterator<long[]> sorted;

    private boolean isFirst = true;
    private boolean isClosed;

    /**
     * Begins to read a pattern.
     *
     * @param order the order of the statements, or null
     * @param whenInterrupted makes the exception that ends a read of several batches if its thread is interrupted
     */
    StatementIteration(
            QuadPattern pattern,
            StatementOrder order,
            Function<String, ? extends RuntimeException> whenInterrupted) {
        this.pattern = pattern;
        this.order = order;
        this.whenInterrupted = whenInterrupted;
        this.values = new RowValues(pattern.view, COLUMNS);
    }

    @Override
    public boolean hasNext() {
        return !isClosed && (row < count || fetch());
    }

    @Override
    public Statement next() {
        if (!hasNext()) {
            throw new NoSuchElementException(isClosed ? "the iteration is closed" : "there are no more statements");
        }
        int at = row++;
        Resource subject = pattern.subjectValue != null ? pattern.subjectValue : (Resource) values.get(at, SUBJECT);
        IRI predicate = pattern.predicateValue != null ? pattern.predicateValue : (IRI) values.get(at, PREDICATE);
        Value object = pattern.sameObject != null ? pattern.sameObject : values.get(at, OBJECT);
        Resource context = context(at);
        return context == null
                ? VALUES.createStatement(subject, predicate, object)
                : VALUES.createStatement(subject, predicate, object, context);
    }

    private Resource context(int at) {
        if (rows[COLUMNS * at + CONTEXT] == IdRows.DEFAULT_GRAPH) {
            return null;
        }
        return pattern.sameContext != null ? pattern.sameContext : (Resource) values.get(at, CONTEXT);
    }

    /** Fetches the next rows. Returns false at the end. */
    private boolean fetch() {
        if (!pattern.isPossible) {
            return false;
        }
        row = 0;
        count = 0;
        while (count == 0) {
            if (!isFirst && (sorted != null || iterator != 0)) {
                grow();
            }
            if (sorted != null) {
                count = nextSorted();
            } else if (iterator != 0) {
                Interrupts.check(whenInterrupted);
                boolean hasMore = SailErrors.convert(() -> NativeQuads.next(iterator, rows));
                count = (int) rows[rows.length - 1];
                if (!hasMore) {
                    closeIterator();
                }
            } else if (!openNext()) {
                return false;
            }
        }
        createValues();
        return true;
    }

    private int capacity() {
        return rows.length / COLUMNS;
    }

    private void grow() {
        if (capacity() < IdRows.ROWS_MAX) {
            rows = new long[2 * COLUMNS * capacity() + 1];
        }
    }

    private void createValues() {
        values.begin(rows, count, isFirst);
        isFirst = false;
        if (pattern.subjectValue == null) {
            values.add(SUBJECT);
        }
        if (pattern.predicateValue == null) {
            values.add(PREDICATE);
        }
        if (pattern.sameObject == null) {
            values.add(OBJECT);
        }
        if (pattern.sameContext == null) {
            values.add(CONTEXT);
        }
        SailErrors.run(values::end);
    }

    /**
     * Begins to read the next graph of the pattern, or all of them in the order. Returns false after the last one.
     * After an error, the next call tries the same again.
     */
    private boolean openNext() {
        if (graph + 1 == pattern.graphs.length) {
            return false;
        }
        long[] first = FIRST.get();
        if (order == null) {
            int next = graph + 1;
            iterator = SailErrors.convert(() -> pattern.open(next, first));
            takeFirst(first);
            graph = next;
        } else {
            openSorted(first);
            graph = pattern.graphs.length - 1;
        }
        return true;
    }

    private void takeFirst(long[] first) {
        count = (int) first[first.length - 1];
        rows = iterator == 0 ? Arrays.copyOf(first, COLUMNS * count) : first.clone();
    }

    private void openSorted(long[] first) {
        long opened = SailErrors.convert(() -> pattern.openSorted(order, first));
        if (opened != IdRows.UNSORTED) {
            iterator = opened;
            takeFirst(first);
            return;
        }
        // The order was planned with other terms, and no index has it for these.
        try {
            sorted = SailErrors.convert(() -> readSorted(first));
        } finally {
            // After an error, its rows would be taken for the next ones.
            closeIterator();
        }
        rows = new long[COLUMNS * IdRows.FIRST_ROWS + 1];
        count = nextSorted();
    }

    /** Reads all rows, and sorts them. */
    private Iterator<long[]> readSorted(long[] first) {
        List<long[]> found = new ArrayList<>();
        long[] batch = new long[COLUMNS * IdRows.ROWS_MAX + 1];
        for (int index = 0; index < pattern.graphs.length; index++) {
            iterator = pattern.open(index, first);
            addRows(first, (int) first[first.length - 1], found);
            while (iterator != 0) {
                Interrupts.check(whenInterrupted);
                boolean hasMore = NativeQuads.next(iterator, batch);
                addRows(batch, (int) batch[batch.length - 1], found);
                if (!hasMore) {
                    closeIterator();
                }
            }
        }
        int column = order.ordinal();
        found.sort((left, right) -> Long.compareUnsigned(left[column], right[column]));
        return found.iterator();
    }

    private static void addRows(long[] from, int count, List<long[]> found) {
        for (int at = 0; at < COLUMNS * count; at += COLUMNS) {
            found.add(Arrays.copyOfRange(from, at, at + COLUMNS));
        }
    }

    /** Puts the next sorted rows into the batch, and returns their number. */
    private int nextSorted() {
        int read = 0;
        while (read < capacity() && sorted.hasNext()) {
            System.arraycopy(sorted.next(), 0, rows, COLUMNS * read++, COLUMNS);
        }
        if (!sorted.hasNext()) {
            sorted = null;
        }
        return read;
    }

    private void closeIterator() {
        if (iterator != 0) {
            pattern.view.close(iterator);
            iterator = 0;
        }
    }

    @Override
    public void remove() {
        throw new UnsupportedOperationException("statements are removed by a connection");
    }

    @Override
    public void close() {
        isClosed = true;
        closeIterator();
        sorted = null;
        count = 0;
        row = 0;
    }
}
