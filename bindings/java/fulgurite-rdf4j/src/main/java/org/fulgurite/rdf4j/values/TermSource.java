package org.fulgurite.rdf4j.values;

/** Where stored values read their terms. */
public interface TermSource {
    /**
     * Reads terms.
     *
     * @param ids the ids
     * @param count how many of them
     * @return the terms
     */
    TermReader terms(long[] ids, int count);

    /**
     * Returns where the ids of its terms are valid.
     *
     * @return the scope of the ids
     */
    IdScope scope();

    /**
     * Returns what keeps values whose terms were read.
     *
     * @return the cache, or null if there is none
     */
    default ValueCache cache() {
        return null;
    }

    /**
     * Returns what knows the values whose terms were not read.
     *
     * @return the values, or null if nothing needs them
     */
    default ValueGroup.Unread unread() {
        return null;
    }
}
