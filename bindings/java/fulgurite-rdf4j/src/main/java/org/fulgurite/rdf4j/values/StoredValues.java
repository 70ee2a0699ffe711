package org.fulgurite.rdf4j.values;

/** What the classes of stored values share. */
final class StoredValues {
    private static final int TRIPLE = 4;
    private static final int LITERAL = 5;
    private static final int LANGUAGE_TEXT = 7;

    private StoredValues() {}

    /** Whether two values are known to be equal by their ids. */
    static boolean haveSameId(StoredValue value, Object other) {
        if (!(other instanceof StoredValue)) {
            return false;
        }
        StoredValue stored = (StoredValue) other;
        return value.id() == stored.id() && value.scope() != null && value.scope() == stored.scope();
    }

    /**
     * Whether two values are known to be different by their ids. Committed terms have one id each while the store is
     * open, because it is not swept meanwhile.
     */
    static boolean areDifferent(StoredValue value, Object other) {
        if (!(other instanceof StoredValue)) {
            return false;
        }
        StoredValue stored = (StoredValue) other;
        IdScope scope = value.scope();
        return value.id() != stored.id()
                && scope != null
                && scope == stored.scope()
                && !scope.isOfTransaction()
                && !(mayHaveLanguage(value.id()) && mayHaveLanguage(stored.id()));
    }

    /**
     * Whether the term of an id may have a language. Literals are equal if their languages differ in case only, and a
     * direction of the text is not read, so terms with different ids may be equal values.
     */
    private static boolean mayHaveLanguage(long id) {
        int kind = (int) (id >>> 56);
        return kind == TRIPLE || kind == LITERAL || kind == LANGUAGE_TEXT;
    }
}
