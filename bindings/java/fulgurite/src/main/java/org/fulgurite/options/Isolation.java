package org.fulgurite.options;

/** The checks of a write transaction when it commits. */
public enum Isolation {
    /** It commits only if no key that it wrote has changed since its snapshot. Write skew is possible. */
    SNAPSHOT,
    /** It commits only if nothing that it read has changed, as if transactions ran one after the other. */
    SERIALIZABLE
}
