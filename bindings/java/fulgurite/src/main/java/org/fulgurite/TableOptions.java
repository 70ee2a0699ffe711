package org.fulgurite;

import java.util.Objects;
import org.fulgurite.options.MergeOperator;

/**
 * Options of a table, which are fixed when it is created. Each method changes one option and returns this object. A
 * value that is not allowed is an error of the call that creates the table.
 */
public final class TableOptions {
    private static final int COUNTED = 1;
    private static final int PACKED = 2;

    private int flags;
    private int align = 1;
    private int operator = -1;
    private String function;
    private String keyType = "";
    private String valueType = "";

    /** Creates the default options. */
    public TableOptions() {}

    private TableOptions set(int flag, boolean value) {
        flags = value ? flags | flag : flags & ~flag;
        return this;
    }

    /**
     * Sets whether exact counts of ranges stay fast while changes wait for a checkpoint. Checkpoints then take longer.
     * Default: false.
     *
     * @param counted whether they stay fast
     * @return this
     */
    public TableOptions counted(boolean counted) {
        return set(COUNTED, counted);
    }

    /**
     * Sets whether a key is stored without the prefix that it shares with the key before it. Keys with common prefixes
     * take a fraction of the space; gets and scans are slower. Default: false.
     *
     * @param packed whether to pack keys
     * @return this
     */
    public TableOptions packed(boolean packed) {
        return set(PACKED, packed);
    }

    /**
     * Sets the alignment of values in the file, in bytes. Default: 1. Values of a {@link #packed} table cannot be
     * aligned.
     *
     * @param bytes 1, 4, 8 or 16
     * @return this
     */
    public TableOptions valueAlign(int bytes) {
        align = bytes;
        return this;
    }

    /**
     * Sets the operator of {@link WriteTransaction#merge}, instead of a {@link #mergeFunction}. Default: none.
     *
     * @param operator the operator
     * @return this
     */
    public TableOptions merge(MergeOperator operator) {
        this.operator = Objects.requireNonNull(operator, "operator").ordinal();
        function = null;
        return this;
    }

    /**
     * Sets a function of the program as the operator of {@link WriteTransaction#merge}, instead of {@link #merge}.
     * Register the function under this name by {@link DatabaseOptions#mergeFunction} at each opening. Without it,
     * merges throw an exception of the kind {@code MERGE_FUNCTION_MISSING}, and everything else works.
     *
     * @param name the name, 1 to 255 bytes
     * @return this
     * @throws org.fulgurite.exceptions.FulguriteException of the kind {@code INVALID} if the name has half of a
     *     surrogate pair
     */
    public TableOptions mergeFunction(String name) {
        Table.checkName(name);
        function = name;
        operator = -1;
        return this;
    }

    /**
     * Sets the name of the type of the keys, which the database records without spaces and {@link Table#keyType}
     * returns. {@link org.fulgurite.typed.TypedTable} sets it. Default: none. Creating a table with an unknown type
     * name throws an exception of the kind {@code INVALID}.
     *
     * @param name the name, such as {@code u64}
     * @return this
     */
    public TableOptions keyType(String name) {
        keyType = Objects.requireNonNull(name, "name");
        return this;
    }

    /**
     * Sets the name of the type of the values, as {@link #keyType}. {@link MergeOperator}s read and write numbers of
     * this type. Default: none.
     *
     * @param name the name, such as {@code i64}
     * @return this
     */
    public TableOptions valueType(String name) {
        valueType = Objects.requireNonNull(name, "name");
        return this;
    }

    String[] types() {
        return new String[] {keyType, valueType};
    }

    int flags() {
        return flags;
    }

    int align() {
        return align;
    }

    int operator() {
        return operator;
    }

    String function() {
        return function;
    }
}
