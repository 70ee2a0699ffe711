package org.fulgurite.geaflow.internal.errors;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.exceptions.StorageFullException;

/**
 * Errors of the engine, with remedies that fit a store of GeaFlow. The engine advises its direct callers: its remedies
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
     * Returns what failed and why. If it is the file of a shard, a remedy for a job takes the place of the engine's: a
     * job has no backup, and cannot open a shard read-only.
     *
     * @param file the file of the shard
     */
    public static String text(Throwable error, Path file) {
        String remedy = remedy(error, file);
        return remedy == null ? error.getMessage() : reason(error) + "; " + remedy;
    }

    /** Returns what a job can do about an error of the file of a shard; null for other errors. */
    private static String remedy(Throwable error, Path file) {
        String message = error.getMessage();
        if (!(error instanceof FulguriteException) || message == null || !names(message, file)) {
            return null;
        }
        Path directory = file.toAbsolutePath().getParent();
        String recovery = "delete the directory " + directory + ", and recover a checkpoint";
        switch (((FulguriteException) error).kind()) {
            case CORRUPT:
            case NOT_A_DATABASE:
                return recovery;
            case LOG_WITHOUT_DATABASE:
            case LOG_MISSING:
                return "put the missing file back; or " + recovery;
            case UNSUPPORTED_FORMAT:
                return "use the version of Fulgurite that wrote it; or " + recovery;
            case LOCKED:
                // The process of the job itself may have the file open, such as in another class loader.
                return (message.contains("this process") ? "close it there" : "end that process")
                        + ", or set geaflow.work.path to another directory";
            case IO:
                return Files.isDirectory(file)
                        ? recovery
                        : "check the directory " + directory + " and its permissions, or set geaflow.work.path to another";
            default:
                return null;
        }
    }

    /** Whether a message names a file. The engine resolves symbolic links, {@code .} and {@code ..} in its path. */
    private static boolean names(String message, Path file) {
        try {
            Path resolved = file.toAbsolutePath().getParent().toRealPath().resolve(file.getFileName());
            return message.contains(resolved.toString()) || message.contains(file.toString());
        } catch (IOException missing) {
            return message.contains(file.toString());
        }
    }

    /** Returns whether only a recovery of a checkpoint makes the file usable again. */
    public static boolean isDamage(FulguriteException error) {
        return error.kind() == ErrorKind.CORRUPT || error.kind() == ErrorKind.NOT_A_DATABASE;
    }

    /**
     * Returns the error of a shard whose file cannot be opened. If there is no room for it, that is the error itself.
     *
     * @param store the names of the store and the shard
     * @param file the file of the shard
     */
    public static RuntimeException notOpened(FulguriteException refused, String store, Path file) {
        return refused instanceof StorageFullException
                ? refused
                : new GeaflowRuntimeException("cannot open " + store + ": " + text(refused, file), refused);
    }

    /**
     * Returns the error of a shard that is open. If a job can do nothing about its file, that is the error itself.
     *
     * @param store the names of the store and the shard
     * @param file the file of the shard
     */
    public static RuntimeException ofOpen(FulguriteException failed, String store, Path file) {
        return remedy(failed, file) == null
                ? failed
                : new GeaflowRuntimeException(store + ": " + text(failed, file), failed);
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
