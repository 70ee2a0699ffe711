package org.fulgurite.geaflow.internal.errors;

import java.nio.file.Path;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.exceptions.StorageFullException;

/**
 * Errors of the engine with remedies that fit a store of GeaFlow. The engine advises its direct callers: its remedies
 * name other settings, and assume that the caller still has the changes.
 */
public final class EngineErrors {
    private EngineErrors() {}

    /**
     * Returns what failed and why. The remedy of the engine is left out: it follows the first semicolon after the name
     * of the file, whose directories may have semicolons too.
     */
    public static String reason(Throwable error) {
        String message = error.getMessage();
        if (message == null || !(error instanceof FulguriteException)) {
            return error.toString();
        }
        int afterDirectories = Math.max(0, message.indexOf(".ful"));
        int end = message.indexOf("; ", afterDirectories);
        return end < 0 ? message : message.substring(0, end);
    }

    /**
     * Returns the error of a call that was refused without a loss. If the quota is the reason, the error names its key.
     * An error that this method returned is returned as it is.
     *
     * @param quotaKey the key of the configuration that has the quota
     */
    public static StorageFullException refused(StorageFullException full, String quotaKey) {
        if (full.kind() != ErrorKind.QUOTA_EXCEEDED || full.getMessage().contains(quotaKey)) {
            return full;
        }
        String remedy = "; set " + quotaKey + " to a larger size and open the state again; nothing was lost";
        return inPlaceOf(full, reason(full) + remedy);
    }

    /**
     * Returns the error of changes that are lost, because they could not be applied or committed.
     *
     * @param file the file of the shard
     * @param quotaKey the key of the configuration that has the quota
     */
    public static GeaflowRuntimeException lost(Path file, Throwable failed, String quotaKey) {
        String first = "";
        Throwable cause = failed;
        if (failed instanceof StorageFullException) {
            StorageFullException full = (StorageFullException) failed;
            boolean isQuota = full.kind() == ErrorKind.QUOTA_EXCEEDED;
            first = isQuota ? "set " + quotaKey + " to a larger size, then " : "free space on the disk, then ";
            // The engine says that nothing was lost, which is true for its file alone.
            cause = inPlaceOf(full, reason(full));
        }
        return new GeaflowRuntimeException(
                "changes of " + file + " after its last commit could not be committed and are lost; " + first
                        + "recover a checkpoint: " + reason(failed),
                cause);
    }

    private static StorageFullException inPlaceOf(StorageFullException full, String message) {
        StorageFullException other = new StorageFullException(full.kind(), message);
        other.setStackTrace(full.getStackTrace());
        return other;
    }
}
