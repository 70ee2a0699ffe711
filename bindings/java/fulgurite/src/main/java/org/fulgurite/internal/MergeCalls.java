package org.fulgurite.internal;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.fulgurite.options.MergeFunction;

/** Calls a merge function. The native library calls it: see {@code crates/java/src/callbacks/merge_functions.rs}. */
public final class MergeCalls {
    /** Has a value while a merge function runs on the thread. */
    private static final ThreadLocal<Boolean> RUNNING = new ThreadLocal<>();

    private final MergeFunction function;

    /** Calls this function. */
    public MergeCalls(MergeFunction function) {
        this.function = function;
    }

    /** Whether a merge function runs on this thread. */
    static boolean isRunning() {
        return RUNNING.get() != null;
    }

    byte[] merge(byte[] packed) {
        ByteBuffer arguments = ByteBuffer.wrap(packed).order(ByteOrder.LITTLE_ENDIAN);
        byte[] key = next(arguments);
        byte[] value = next(arguments);
        List<byte[]> operands = new ArrayList<>();
        while (arguments.hasRemaining()) {
            operands.add(next(arguments));
        }
        // The function may read a key that another transaction merged into, which calls a function on this thread.
        Boolean before = RUNNING.get();
        RUNNING.set(true);
        try {
            return function.merge(key, value, Collections.unmodifiableList(operands));
        } finally {
            if (before == null) {
                RUNNING.remove();
            }
        }
    }

    private static byte[] next(ByteBuffer arguments) {
        int length = arguments.getInt();
        if (length < 0) {
            return null;
        }
        byte[] bytes = new byte[length];
        arguments.get(bytes);
        return bytes;
    }
}
