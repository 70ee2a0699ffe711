package org.fulgurite;

import java.util.Arrays;
import java.util.Objects;

/** A range of keys, in the order of unsigned bytes. */
public final class KeyRange {
    static final int NONE = 0;
    static final int INCLUSIVE = 1;
    static final int EXCLUSIVE = 2;

    private static final byte[] EMPTY = new byte[0];
    private static final KeyRange ALL = new KeyRange(NONE, EMPTY, NONE, EMPTY);

    final int lowKind;
    final byte[] low;
    final int highKind;
    final byte[] high;

    private KeyRange(int lowKind, byte[] low, int highKind, byte[] high) {
        this.lowKind = lowKind;
        this.low = low;
        this.highKind = highKind;
        this.high = high;
    }

    /**
     * Returns the range of all keys.
     *
     * @return all keys
     */
    public static KeyRange all() {
        return ALL;
    }

    /**
     * Returns the keys that are at least {@code key}.
     *
     * @param key the lower bound
     * @return the range
     */
    public static KeyRange atLeast(byte[] key) {
        return new KeyRange(INCLUSIVE, copy(key, "key"), NONE, EMPTY);
    }

    /**
     * Returns the keys that are greater than {@code key}.
     *
     * @param key the lower bound
     * @return the range
     */
    public static KeyRange greaterThan(byte[] key) {
        return new KeyRange(EXCLUSIVE, copy(key, "key"), NONE, EMPTY);
    }

    /**
     * Returns the keys that are less than {@code key}.
     *
     * @param key the upper bound
     * @return the range
     */
    public static KeyRange lessThan(byte[] key) {
        return new KeyRange(NONE, EMPTY, EXCLUSIVE, copy(key, "key"));
    }

    /**
     * Returns the keys that are at most {@code key}.
     *
     * @param key the upper bound
     * @return the range
     */
    public static KeyRange atMost(byte[] key) {
        return new KeyRange(NONE, EMPTY, INCLUSIVE, copy(key, "key"));
    }

    /**
     * Returns the keys from {@code low} up to, but not including, {@code high}.
     *
     * @param low the lower bound, inclusive
     * @param high the upper bound, exclusive
     * @return the range
     */
    public static KeyRange between(byte[] low, byte[] high) {
        return new KeyRange(INCLUSIVE, copy(low, "low"), EXCLUSIVE, copy(high, "high"));
    }

    /**
     * Returns the keys that begin with {@code prefix}.
     *
     * @param prefix the prefix
     * @return the range
     */
    public static KeyRange prefix(byte[] prefix) {
        int length = Objects.requireNonNull(prefix, "prefix").length;
        while (length > 0 && prefix[length - 1] == (byte) 0xff) {
            length--;
        }
        if (length == 0) {
            return atLeast(prefix);
        }
        byte[] end = Arrays.copyOf(prefix, length);
        end[length - 1]++;
        return new KeyRange(INCLUSIVE, prefix.clone(), EXCLUSIVE, end);
    }

    private static byte[] copy(byte[] key, String name) {
        return Objects.requireNonNull(key, name).clone();
    }

    /** The part of this range above a key. */
    KeyRange after(byte[] key) {
        return new KeyRange(EXCLUSIVE, key, highKind, high);
    }

    /** The part of this range below a key. */
    KeyRange before(byte[] key) {
        return new KeyRange(lowKind, low, EXCLUSIVE, key);
    }

    /** The part of this range from a key on. */
    KeyRange from(byte[] key) {
        boolean isAbove = lowKind == NONE || compare(key, low) > 0;
        return isAbove ? new KeyRange(INCLUSIVE, key, highKind, high) : this;
    }

    /** The part of this range up to a key. */
    KeyRange upTo(byte[] key) {
        boolean isBelow = highKind == NONE || compare(key, high) < 0;
        return isBelow ? new KeyRange(lowKind, low, INCLUSIVE, key) : this;
    }

    private static int compare(byte[] one, byte[] other) {
        for (int index = 0; index < Math.min(one.length, other.length); index++) {
            int difference = Byte.toUnsignedInt(one[index]) - Byte.toUnsignedInt(other[index]);
            if (difference != 0) {
                return difference;
            }
        }
        return one.length - other.length;
    }
}
