package org.fulgurite.options;

import java.util.List;

/**
 * A function that changes values: see {@link org.fulgurite.DatabaseOptions#mergeFunction}. The commit calls it with the
 * value that the key then has, so transactions that merge into the same key do not conflict.
 *
 * <p>It depends on its arguments only, is quick, and calls no database: other commits may wait while it runs. Several
 * threads call it at the same time, and it may be called several times for one merge. If it throws, the merge or the
 * commit fails with the kind {@code UNMERGEABLE}, and nothing is changed.
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
