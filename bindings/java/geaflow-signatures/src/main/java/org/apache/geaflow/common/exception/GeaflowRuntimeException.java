package org.apache.geaflow.common.exception;

/** GeaFlow's exception. */
public class GeaflowRuntimeException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public GeaflowRuntimeException(String message) {
        super(message);
    }

    public GeaflowRuntimeException(String message, Throwable cause) {
        super(message, cause);
    }
}
