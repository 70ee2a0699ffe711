package org.fulgurite.exceptions;

/** The object, or its database, was closed. */
public class ClosedException extends FulguriteException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param kind what failed
     * @param message the text, for people
     */
    public ClosedException(ErrorKind kind, String message) {
        super(kind, message);
    }
}
