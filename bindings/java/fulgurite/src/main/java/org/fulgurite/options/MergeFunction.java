package org.fulgurite.options;

import java.util.List;

/**
 * A function that changes values: see {@link org.fulgurite.DatabaseOptions#mergeFunction}. The commit calls it with the
 * value that the key then has, so transactions that merge into the same key do not conflict.
 *
 * <p>The result must depend on the arguments only: the function may be called several times for one merge, and several
 * threads may call it at the same time. It must be quick, because other commits may wait while it runs. It must not use
 * the transaction that calls it, nor write to a database, open or close one: such a call throws an exception of the
 * kind {@code INVALID}. If it throws, the call that needs the value fails with the kind {@code UNMERGEABLE} and changes
 * nothing: {@code get} or another read, {@code merge} or {@code commit}.
 */
@FunctionalInterface
public interface MergeFunction {
    /**
     * Returns the new value of a key.
     *
     * @param key the key
     * @param value the value before, or null if the key does not exist
     * @param operands what one transaction merges into the key, in the order of its calls; at least one
     * @return the new value, not null
     */
    byte[] merge(byte[] key, byte[] value, List<byte[]> operands);
}
