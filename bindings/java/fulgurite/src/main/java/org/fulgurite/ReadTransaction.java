package org.fulgurite;

/**
 * A read transaction: a snapshot of the database. Later commits do not change what it reads. It blocks no writer.
 * Threads can share it. Close it when it is no longer needed: pages of its snapshot are not reused before.
 */
public final class ReadTransaction extends Transaction {
    ReadTransaction(Database database, long raw, boolean reported) {
        super(database, raw, "read transaction", reported);
    }
}
