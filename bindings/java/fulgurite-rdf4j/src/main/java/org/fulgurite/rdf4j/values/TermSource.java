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
     * Returns the groups of values whose terms were not read.
     *
     * @return the groups, or null if they are not kept
     */
    default ValueGroup.Unread unread() {
        return null;
    }
}
