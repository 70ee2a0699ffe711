package org.fulgurite.rdf4j;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.eclipse.rdf4j.common.iteration.CloseableIteration;
import org.eclipse.rdf4j.common.order.StatementOrder;
import org.eclipse.rdf4j.model.IRI;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.model.ValueFactory;
import org.eclipse.rdf4j.model.impl.SimpleValueFactory;
import org.fulgurite.internal.NativeQuads;
import org.fulgurite.rdf4j.internal.SailErrors;
import org.fulgurite.rdf4j.values.StoredValue;
import org.fulgurite.rdf4j.values.ValueGroup;

/**
 * The statements of a pattern. It fetches rows of ids in batches that grow from 16 to 512. The texts of the first batch,
 * and of each column of a later batch, are read in one call when the first of them is needed. In a transaction they are
 * read at once, because its ids may change until the commit.
 *
 * <p>It is for one thread: {@link ResultIteration} lets others close a result.
 */
final class StatementIteration implements CloseableIteration<Statement> {
    private static final ValueFactory VALUES = SimpleValueFactory.getInstance();
    private static final int FIRST_ROWS = 16;
    private static final int ROWS_MAX = 512;
    private static final int RECENT = 1024;
    private static final long HASH = 0x9E3779B97F4A7C15L;
    private static final int HASH_SHIFT = 54;

    private final QuadPattern pattern;
    private final StatementOrder order;

    /** Recent values, by a hash of their ids; null in the first batch. */
    private StoredValue[] recent;

    private final StoredValue[] last = new StoredValue[4];

    /** Four ids a row; the last element is for {@link StoreView#open}. */
    private long[] rows = new long[4 * FIRST_ROWS + 1];
    private StoredValue[] values;
    private int count;
    private int row;
    private int graph = -1;
    private long iterator;

    /** The rest of the rows of a graph that no index has in the order. */
    private Iterator<long[]> sorted;

    private boolean isClosed;

    StatementIteration(QuadPattern pattern, StatementOrder order) {
        this.pattern = pattern;
        this.order = order;
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
        int at = 4 * row++;
        Resource subject = pattern.subjectValue != null ? pattern.subjectValue : (Resource) values[at];
        IRI predicate = pattern.predicateValue != null ? pattern.predicateValue : (IRI) values[at + 1];
        // The object is not taken from the pattern: the store may have a literal with another case of its language.
        Value object = values[at + 2];
        Resource context = (Resource) values[at + 3];
        return context == null
                ? VALUES.createStatement(subject, predicate, object)
                : VALUES.createStatement(subject, predicate, object, context);
    }

    /** Fetches the next rows. Returns false at the end. */
    private boolean fetch() {
        if (!pattern.isPossible) {
            return false;
        }
        boolean isFirst = count == 0;
        row = 0;
        count = 0;
        while (count == 0) {
            if (!isFirst && (sorted != null || iterator != 0)) {
                grow();
            }
            if (sorted != null) {
                count = nextSorted();
            } else if (iterator != 0) {
                count = SailErrors.convert(() -> NativeQuads.next(iterator, rows, capacity()));
                if (count < capacity()) {
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
        return rows.length / 4;
    }

    private void grow() {
        if (capacity() < ROWS_MAX) {
            rows = new long[8 * capacity() + 1];
        }
        if (recent == null) {
            recent = new StoredValue[RECENT];
        }
    }

    private void createValues() {
        values = new StoredValue[4 * count];
        // The values of the first batch are few, so they are read in one call.
        ValueGroup first = new ValueGroup(pattern.view);
        for (int column = 0; column < 4; column++) {
            boolean isGiven = column == 0 && pattern.subjectValue != null || column == 1 && pattern.predicateValue != null;
            if (!isGiven) {
                ValueGroup group = recent == null ? first : new ValueGroup(pattern.view);
                for (int at = column; at < values.length; at += 4) {
                    values[at] = value(column, rows[at], group);
                }
                if (pattern.view.isTransaction() && group != first) {
                    SailErrors.run(group::readAll);
                }
            }
        }
        if (pattern.view.isTransaction()) {
            SailErrors.run(first::readAll);
        }
    }

    private StoredValue value(int column, long id, ValueGroup group) {
        StoredValue before = last[column];
        if (before != null && before.id() == id) {
            return before;
        }
        if (id == StoreView.DEFAULT_GRAPH) {
            return null;
        }
        int place = (int) (id * HASH >>> HASH_SHIFT);
        StoredValue value = recent == null ? null : recent[place];
        if (value == null || value.id() != id) {
            value = group.add(id);
            if (recent != null) {
                recent[place] = value;
            }
        }
        last[column] = value;
        return value;
    }

    /** Begins to read the next graph of the pattern, and fetches its first rows. Returns false after the last one. */
    private boolean openNext() {
        if (graph + 1 == pattern.graphs.length) {
            return false;
        }
        graph++;
        iterator = SailErrors.convert(() -> pattern.open(graph, order, rows));
        if (iterator == StoreView.UNSORTED) {
            // More terms are given than when the order was planned, and no index has both.
            iterator = SailErrors.convert(() -> pattern.open(graph, null, rows));
            sorted = SailErrors.convert(this::readSorted);
            count = nextSorted();
        } else {
            count = (int) rows[rows.length - 1];
        }
        return true;
    }

    /** Reads all rows of the current graph, and sorts them. */
    private Iterator<long[]> readSorted() {
        List<long[]> found = new ArrayList<>();
        int read = (int) rows[rows.length - 1];
        while (read > 0) {
            for (int at = 0; at < 4 * read; at += 4) {
                found.add(Arrays.copyOfRange(rows, at, at + 4));
            }
            read = iterator == 0 ? 0 : NativeQuads.next(iterator, rows, capacity());
        }
        closeIterator();
        int column = order.ordinal();
        found.sort((left, right) -> Long.compareUnsigned(left[column], right[column]));
        return found.iterator();
    }

    /** Puts the next sorted rows into the batch, and returns their number. */
    private int nextSorted() {
        int read = 0;
        while (read < capacity() && sorted.hasNext()) {
            System.arraycopy(sorted.next(), 0, rows, 4 * read++, 4);
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
        count = 0;
        row = 0;
    }
}
