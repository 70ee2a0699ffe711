package org.fulgurite;

/** A state of a write transaction that it can roll back to: see {@link WriteTransaction#savepoint()}. */
public final class Savepoint {
    final WriteTransaction transaction;
    final int number;

    Savepoint(WriteTransaction transaction, int number) {
        this.transaction = transaction;
        this.number = number;
    }
}
