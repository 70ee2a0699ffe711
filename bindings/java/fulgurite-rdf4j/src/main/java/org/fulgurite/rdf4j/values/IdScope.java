package org.fulgurite.rdf4j.values;

/**
 * Where ids of terms are valid: ids of committed terms in all snapshots and transactions of a store, ids of a
 * transaction in it only. A sweep of the store begins another scope.
 */
public final class IdScope {
    /** The scope of the committed terms of the store; null if it is this one. */
    private final IdScope committed;

    private IdScope(IdScope committed) {
        this.committed = committed;
    }

    /**
     * Returns a new scope for the committed terms of a store.
     *
     * @return the scope
     */
    public static IdScope ofStore() {
        return new IdScope(null);
    }

    /**
     * Returns a new scope for the terms of a transaction of this store, or of the store of this transaction: a
     * transaction that is repeated may give its terms other ids.
     *
     * @return the scope
     */
    public IdScope ofTransaction() {
        return new IdScope(committed == null ? this : committed);
    }

    /**
     * Returns whether this is the scope of a transaction.
     *
     * @return whether it is
     */
    public boolean isOfTransaction() {
        return committed != null;
    }

    /**
     * Returns whether ids of another scope are valid in this one.
     *
     * @param other the other scope
     * @return whether they are
     */
    public boolean covers(IdScope other) {
        return other != null && (other == this || other == committed);
    }
}
