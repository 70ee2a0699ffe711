package org.fulgurite.exceptions;

/**
 * An error that a database reports: the base class of all exceptions of this package. The message says what failed and
 * what to do. Wrong arguments and wrong use can also throw the exceptions of {@code java.lang}, such as {@link
 * IllegalArgumentException} and {@link IllegalStateException}.
 */
public class FulguriteException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The kind of the error. */
    private final ErrorKind kind;

    /**
     * Creates an exception.
     *
     * @param kind what failed
     * @param message the text, for people
     */
    public FulguriteException(ErrorKind kind, String message) {
        super(message);
        this.kind = kind;
    }

    /**
     * Returns the kind of the error.
     *
     * @return the kind
     */
    public ErrorKind kind() {
        return kind;
    }

    /**
     * Returns whether the transaction may succeed if it is run again. This is true for {@link RetryableException}s.
     *
     * @return whether to run the transaction again
     */
    public boolean isRetryable() {
        return false;
    }
}
