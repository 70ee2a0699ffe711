package org.fulgurite.rdf4j.internal;

import java.util.function.Function;

/** Reads that take several native calls look for an interrupt between them. */
public final class Interrupts {
    private Interrupts() {}

    /** Throws the exception with a text if this thread is interrupted. The thread stays interrupted. */
    public static void check(Function<String, ? extends RuntimeException> exception) {
        if (Thread.currentThread().isInterrupted()) {
            throw exception.apply("the thread that reads the results was interrupted");
        }
    }
}
