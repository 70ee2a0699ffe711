package org.fulgurite.rdf4j.queries;

import org.fulgurite.rdf4j.internal.IdRows;
import org.fulgurite.rdf4j.values.StoredValue;
import org.fulgurite.rdf4j.values.TermSource;
import org.fulgurite.rdf4j.values.ValueCache;
import org.fulgurite.rdf4j.values.ValueGroup;

/**
 * The values of rows of ids, batch by batch. Values that the cache of the store has, or that earlier rows had, are not
 * created again. The terms of the first batch are read in one call, because most results are short. Those of later
 * batches are read by column ({@link ValueGroup}). In a transaction, whose ids may change until the commit, the terms
 * of each batch are read at once.
 */
public final class RowValues {
    private static final int RECENT = 1024;
    private static final long HASH = 0x9E3779B97F4A7C15L;
    private static final int HASH_SHIFT = 54;

    private final TermSource source;
    private final int columns;

    /** Recent values, by a hash of their ids; null in the first batch. */
    private StoredValue[] recent;

    /** The values that were added last, by their column; null in the first batch. */
    private ValueGroup[] groups;

    /** The values of the first batch, or of a batch of a transaction. */
    private ValueGroup whole;

    private long[] rows;
    private int count;

    /** Null if the batch has no values yet. */
    private StoredValue[] values;

    /**
     * Creates the values of rows.
     *
     * @param source where terms are read
     * @param columns how many ids a row has
     */
    public RowValues(TermSource source, int columns) {
        this.source = source;
        this.columns = columns;
    }

    /**
     * Begins with a batch. It has no values before {@link #add}.
     *
     * @param rows the ids, and numbers below 0 for values that the caller has; the array can be used again when all
     *     columns were added
     * @param count how many rows there are
     * @param isFirst whether it is the first batch
     */
    public void begin(long[] rows, int count, boolean isFirst) {
        this.rows = rows;
        this.count = count;
        values = null;
        if (!isFirst && recent == null) {
            recent = new StoredValue[RECENT];
            groups = new ValueGroup[columns];
        }
        whole = isFirst || source.scope().isOfTransaction() ? ValueGroup.whole(source) : null;
    }

    /**
     * Adds the values of a column.
     *
     * @param column the column, counted from 0
     */
    public void add(int column) {
        ValueGroup group = whole;
        StoredValue value = null;
        for (int at = column; at < columns * count; at += columns) {
            long id = rows[at];
            if (id <= IdRows.DEFAULT_GRAPH) {
                // It has no value, or a computed one, which the caller has.
                continue;
            }
            if (value == null || value.id() != id) {
                value = known(id);
                if (value == null) {
                    if (group == null) {
                        group = new ValueGroup(source, groups[column]);
                    }
                    value = group.add(id);
                }
                if (recent != null) {
                    recent[place(id)] = value;
                }
            }
            if (values == null) {
                values = new StoredValue[columns * count];
            }
            values[at] = value;
        }
        if (group != whole) {
            groups[column] = group;
        }
    }

    /** Ends a batch: reads the terms that must not be read later. Call it when all columns were added. */
    public void end() {
        if (source.scope().isOfTransaction()) {
            whole.readAll();
        }
    }

    /** Returns the value of an id, or null if it is neither in the cache nor recent. */
    private StoredValue known(long id) {
        ValueCache cache = source.cache();
        StoredValue value = cache == null ? null : cache.get(id);
        if (value != null || recent == null) {
            return value;
        }
        value = recent[place(id)];
        return value != null && value.id() == id ? value : null;
    }

    private static int place(long id) {
        return (int) (id * HASH >>> HASH_SHIFT);
    }

    /**
     * Returns a value of the batch.
     *
     * @param row the position of the row
     * @param column a column that was added
     * @return the value; null for the default graph. Requires: the column has an id in some row
     */
    public StoredValue get(int row, int column) {
        return values[columns * row + column];
    }
}
