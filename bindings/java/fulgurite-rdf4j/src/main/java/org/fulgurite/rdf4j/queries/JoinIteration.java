package org.fulgurite.rdf4j.queries;

import java.util.List;
import java.util.function.BiConsumer;
import org.eclipse.rdf4j.common.iteration.LookAheadIteration;
import org.eclipse.rdf4j.model.Value;
import org.eclipse.rdf4j.query.BindingSet;
import org.eclipse.rdf4j.query.MutableBindingSet;
import org.eclipse.rdf4j.query.QueryInterruptedException;
import org.eclipse.rdf4j.query.algebra.evaluation.impl.QueryEvaluationContext;
import org.fulgurite.rdf4j.internal.IdRows;
import org.fulgurite.rdf4j.internal.Interrupts;

/** The solutions of a join of patterns. It fetches rows of ids in growing batches ({@link IdRows}). */
final class JoinIteration extends LookAheadIteration<BindingSet> {
    private final JoinSource source;
    private final QueryEvaluationContext context;
    private final BindingSet bindings;

    /** What adds the value of each variable to a solution. */
    private final List<BiConsumer<Value, MutableBindingSet>> variables;

    private final RowValues values;

    /** As many ids a row as there are variables, and an element for the number of rows. */
    private long[] rows;

    private long join;
    private boolean hasMore;
    private int count;
    private int row;
    private boolean isFirst = true;

    /** Begins a join: see {@link JoinSource#join}. */
    JoinIteration(
            JoinSource source,
            long[] patterns,
            List<BiConsumer<Value, MutableBindingSet>> variables,
            QueryEvaluationContext context,
            BindingSet bindings) {
        this.source = source;
        this.context = context;
        this.bindings = bindings;
        this.variables = variables;
        this.values = new RowValues(source.terms(), variables.size());
        this.rows = new long[width() * IdRows.FIRST_ROWS + 1];
        this.join = source.join(patterns, rows);
        this.hasMore = join != 0;
        begin();
    }

    /** The elements of a row. A row without variables takes one, so that a call returns many of them too. */
    private int width() {
        return Math.max(variables.size(), 1);
    }

    /** Creates the values of the rows that were fetched. */
    private void begin() {
        row = 0;
        count = (int) rows[rows.length - 1];
        if (count == 0) {
            return;
        }
        values.begin(rows, count, isFirst);
        isFirst = false;
        for (int column = 0; column < variables.size(); column++) {
            values.add(column);
        }
        values.end();
    }

    @Override
    protected BindingSet getNextElement() {
        while (row == count) {
            if (!hasMore) {
                return null;
            }
            fetch();
        }
        MutableBindingSet solution = context.createBindingSet(bindings);
        for (int column = 0; column < variables.size(); column++) {
            variables.get(column).accept(values.get(row, column), solution);
        }
        row++;
        return solution;
    }

    private void fetch() {
        Interrupts.check(QueryInterruptedException::new);
        int elements = rows.length - 1;
        if (count > 0 && elements < width() * IdRows.ROWS_MAX) {
            rows = new long[2 * elements + 1];
        }
        hasMore = source.next(join, rows);
        if (!hasMore) {
            end();
        }
        begin();
    }

    private void end() {
        if (join != 0) {
            source.close(join);
            join = 0;
        }
    }

    @Override
    protected void handleClose() {
        end();
        hasMore = false;
        row = count;
    }
}
