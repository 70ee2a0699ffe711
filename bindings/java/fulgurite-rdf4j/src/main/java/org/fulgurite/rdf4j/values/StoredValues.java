package org.fulgurite.rdf4j.values;

/** What the classes of stored values share. */
final class StoredValues {
    private StoredValues() {}

    /** Whether two values are known to be equal by their ids. */
    static boolean haveSameId(StoredValue value, Object other) {
        if (!(other instanceof StoredValue)) {
            return false;
        }
        StoredValue stored = (StoredValue) other;
        return value.id() == stored.id() && value.scope() != null && value.scope() == stored.scope();
    }
}
