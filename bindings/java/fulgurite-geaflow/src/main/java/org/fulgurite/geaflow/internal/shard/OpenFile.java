package org.fulgurite.geaflow.internal.shard;

import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.fulgurite.Database;
import org.fulgurite.Table;

/** The open file of a shard. Calls without the shard's lock are counted, so that the file is closed between them. */
final class OpenFile {
    private static final String LAYOUTS = "layout";

    final Database database;
    final List<Table> tables;
    final Table layouts;

    private final AtomicInteger calls = new AtomicInteger();

    /** Whether the file was used since this was last asked for. */
    private boolean isUsed = true;

    OpenFile(Database database, List<String> tables) {
        this.database = database;
        checkOwn(tables);
        this.tables = tables.stream().map(database::openOrCreateTable).collect(Collectors.toList());
        layouts = database.openOrCreateTable(LAYOUTS);
    }

    /**
     * Refuses a database of something else, in which the shard would begin empty. Its entries stay as they are, but
     * opening it may have written commits of its log into the file.
     */
    private void checkOwn(List<String> tables) {
        List<String> found = database.tableNames();
        if (!found.isEmpty() && !found.contains(LAYOUTS) && Collections.disjoint(found, tables)) {
            throw new GeaflowRuntimeException(database.path() + " is not the file of a shard: it has the tables " + found
                    + "; put it elsewhere, or set geaflow.work.path to another directory");
        }
    }

    /** Keeps the file open until {@link #leave}, if the shard still has it afterwards. */
    void enter() {
        calls.incrementAndGet();
    }

    void leave() {
        calls.decrementAndGet();
    }

    void use() {
        // Mostly a read: threads that use a file do not write to the same memory.
        if (!isUsed) {
            isUsed = true;
        }
    }

    /** Returns whether the file was used since the last call. */
    boolean takeUsed() {
        boolean was = isUsed;
        isUsed = false;
        return was;
    }

    /** Returns whether a call runs, or a snapshot is open. */
    boolean isInUse() {
        return calls.get() > 0 || database.openTransactions() > 0;
    }
}
