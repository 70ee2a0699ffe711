package org.fulgurite.exceptions;

/** Another process, or this one under another name, has the database open for writing. */
public class LockedException extends FulguriteException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param kind what failed
     * @param message the text, for people
     */
    public LockedException(ErrorKind kind, String message) {
        super(kind, message);
    }
}
