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
     * Returns whether an id means the same term here and there.
     *
     * @param other another source
     * @return whether ids can be compared
     */
    boolean sharesIdsWith(TermSource other);
}
