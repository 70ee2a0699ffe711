package org.fulgurite.options;

/**
 * How {@link org.fulgurite.WriteTransaction#merge} changes a value. If the key has no value, the operand becomes its
 * value. Merges of concurrent transactions do not conflict.
 *
 * <p>Numbers have the value type of the table ({@link org.fulgurite.TableOptions#valueType}). In a table without one,
 * they are unsigned and have 8 bytes, big-endian, as {@link java.nio.ByteBuffer} writes them by default.
 */
public enum MergeOperator {
    /** The sum, which wraps around. */
    ADD,
    /** The greater of the value and the operand. Without a number type, they are compared by unsigned bytes. */
    MAX,
    /** The old value followed by the operand. */
    APPEND,
    /** The sum, or the nearest number in the range. */
    ADD_SATURATING,
    /** The sum. If it is out of range, the merge fails with the kind {@code UNMERGEABLE}. */
    ADD_CHECKED,
    /** The lesser of the value and the operand. Without a number type, they are compared by unsigned bytes. */
    MIN,
    /** The bits that are set in both. */
    AND,
    /** The bits that are set in either. */
    OR,
    /** The bits that are set in exactly one. */
    XOR
}
