package org.fulgurite.options;

/** What is checked when a write transaction commits. */
public enum Isolation {
    /** It commits only if no key that it wrote has changed since its snapshot. Write skew is possible. */
    SNAPSHOT,
    /** It commits only if nothing that it read has changed, as if transactions ran one after the other. */
    SERIALIZABLE
}
