package org.fulgurite.geaflow.internal.shard;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.fulgurite.Database;
import org.fulgurite.Table;

/** The open file of a shard. Calls without the shard's lock are counted, so that the file is closed between them. */
final class OpenFile {
    final Database database;
    final List<Table> tables;
    final Table layouts;

    private final AtomicInteger calls = new AtomicInteger();

    /** Whether the file was used since this was last asked for. */
    private boolean isUsed = true;

    OpenFile(Database database, List<String> tables) {
        this.database = database;
        this.tables = tables.stream().map(database::openOrCreateTable).collect(Collectors.toList());
        layouts = database.openOrCreateTable("layout");
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
