package org.fulgurite.rdf4j.internal;

import java.util.function.Supplier;
import org.eclipse.rdf4j.sail.SailConflictException;
import org.eclipse.rdf4j.sail.SailException;
import org.eclipse.rdf4j.sail.SailReadOnlyException;
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.exceptions.RetryableException;

/** Exceptions of the engine become exceptions of RDF4J. */
public final class SailErrors {
    private SailErrors() {}

    /** Runs {@code call}, and converts what it throws. */
    public static <T> T convert(Supplier<T> call) {
        try {
            return call.get();
        } catch (FulguriteException error) {
            throw of(error);
        }
    }

    /** As {@link #convert}, for calls without a result. */
    public static void run(Runnable call) {
        convert(() -> {
            call.run();
            return null;
        });
    }

    public static SailException of(FulguriteException error) {
        if (error instanceof RetryableException) {
            return new SailConflictException(error.getMessage(), error);
        }
        if (error.kind() == ErrorKind.READ_ONLY) {
            SailException readOnly = new SailReadOnlyException(error.getMessage());
            readOnly.initCause(error);
            return readOnly;
        }
        return new SailException(error.getMessage(), error);
    }
}
