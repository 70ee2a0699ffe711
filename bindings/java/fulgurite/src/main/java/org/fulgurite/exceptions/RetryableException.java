package org.fulgurite.exceptions;

/** A conflict with another transaction: nothing was changed, and the transaction can be run again. */
public class RetryableException extends FulguriteException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param kind what failed
     * @param message the text, for people
     */
    public RetryableException(ErrorKind kind, String message) {
        super(kind, message);
    }

    @Override
    public boolean isRetryable() {
        return true;
    }
}
