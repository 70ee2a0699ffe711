package org.fulgurite.options;

/**
 * How {@link org.fulgurite.WriteTransaction#merge} changes a value. Numbers are 8 bytes, big-endian, as {@link java.nio.ByteBuffer}
 * writes them. Merges of concurrent transactions do not conflict.
 */
public enum MergeOperator {
    /** The sum, which wraps around. An absent value counts as 0. */
    ADD,
    /** The greater value, compared by bytes. */
    MAX,
    /** The old value followed by the operand. */
    APPEND,
    /** The sum. Beyond the range it is the least or greatest number. */
    ADD_SATURATING,
    /** The sum. Beyond the range it is an error. */
    ADD_CHECKED,
    /** The lesser value, compared by bytes. */
    MIN,
    /** The bits that are set in both. */
    AND,
    /** The bits that are set in either. */
    OR,
    /** The bits that are set in exactly one. */
    XOR
}
