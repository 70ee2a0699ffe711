package org.fulgurite.geaflow.internal.shard;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.geaflow.common.exception.GeaflowRuntimeException;
import org.fulgurite.Database;
import org.fulgurite.exceptions.FulguriteException;
import org.fulgurite.exceptions.StorageFullException;
import org.fulgurite.geaflow.internal.errors.EngineErrors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The file of a shard. If it is not used, it may be closed: see {@link OpenFiles}. It is opened again when it is used.
 */
final class ShardFile {
    private static final Logger LOGGER = LoggerFactory.getLogger(ShardFile.class);
    private static final byte[] LAYOUT = {};

    /** What is between the layout and the names of classes. */
    private static final String CLASSES = "; ";

    final Path path;

    /** The names of the store and the shard, for messages. */
    private final String store;

    private final Shard shard;
    private final StoreSettings settings;
    private final List<String> tables;

    /** The shard's lock: with it, the file is opened and closed. */
    private final ReentrantLock lock;

    /** Null if it was closed because it was not used, and after {@link #end}. There is no transaction then. */
    private volatile OpenFile open;

    private boolean isEnded;

    /** The file of a shard, which is open as this database. */
    ShardFile(
            Shard shard,
            StoreSettings settings,
            String store,
            Database database,
            List<String> tables,
            ReentrantLock lock) {
        this.shard = shard;
        this.store = store;
        this.settings = settings;
        this.tables = tables;
        this.lock = lock;
        path = database.path();
        open = new OpenFile(database, tables);
    }

    /** The file, which is opened if it is not. If the caller does not have the lock, it may be closed meanwhile. */
    OpenFile use() {
        OpenFile used = open;
        if (used == null) {
            used = reopened();
        }
        used.use();
        return used;
    }

    /** The file, which stays open until {@link OpenFile#leave} is called. */
    OpenFile entered() {
        while (true) {
            OpenFile used = use();
            used.enter();
            // A thread that closes the file sees this call, or this call sees that the file is being closed.
            if (used == open) {
                return used;
            }
            used.leave();
        }
    }

    /** The file, or null if it is not open. */
    OpenFile ifOpen() {
        return open;
    }

    GeaflowRuntimeException closed() {
        return new GeaflowRuntimeException("the store of " + path + " is closed; call init or recovery");
    }

    private OpenFile reopened() {
        OpenFiles.makeRoom(settings.openFilesMax);
        lock.lock();
        try {
            if (isEnded) {
                throw closed();
            }
            if (open == null) {
                Database database = openAgain();
                try {
                    open = new OpenFile(database, tables);
                } catch (RuntimeException | Error failure) {
                    database.close();
                    throw failure;
                }
                OpenFiles.add(shard);
            }
            return open;
        } finally {
            lock.unlock();
        }
    }

    private Database openAgain() {
        try {
            return settings.databaseOptions().open(path);
        } catch (StorageFullException full) {
            throw EngineErrors.refused(full, settings.quotaKey);
        } catch (FulguriteException refused) {
            shard.noteDamage(refused);
            throw EngineErrors.notOpened(refused, store, path);
        }
    }

    /** Returns an error of the open file as the store throws it. */
    RuntimeException ofJob(FulguriteException failed) {
        return EngineErrors.ofOpen(failed, store, path);
    }

    /**
     * Writes how entries are stored into a new file. If a file has it, it must be the same. Files of earlier versions
     * have no names of classes, and get them.
     *
     * @param layout how entries are stored
     * @param classes the classes that make the bytes of entries
     */
    void checkLayout(String layout, String classes) {
        String wanted = layout + CLASSES + classes;
        OpenFile used = entered();
        try {
            byte[] bytes = used.database.get(used.layouts, LAYOUT);
            String found = bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
            if (found == null) {
                writeLayout(used, wanted);
            } else if (found.equals(layout) || !settings.checksClasses && found.startsWith(layout + CLASSES)) {
                replaceLayout(used, found, wanted);
            } else if (!found.equals(wanted)) {
                throw new GeaflowRuntimeException(path + " was written with other settings: it has " + found
                        + ", and the settings say " + wanted
                        + "; use the earlier settings, or another name for the state"
                        + (found.startsWith(layout + CLASSES) ? StoreSettings.CLASSES_REMEDY : ""));
            }
        } finally {
            used.leave();
        }
    }

    private static void writeLayout(OpenFile used, String layout) {
        byte[] bytes = layout.getBytes(StandardCharsets.UTF_8);
        used.database.write(transaction -> transaction.put(used.layouts, LAYOUT, bytes));
    }

    private void replaceLayout(OpenFile used, String found, String wanted) {
        if (found.equals(wanted)) {
            return;
        }
        try {
            writeLayout(used, wanted);
        } catch (StorageFullException full) {
            LOGGER.warn("{} has no room for the names of classes, which are not checked", path, full);
        }
    }

    /** Closes the open file, unless a call or a snapshot uses it. Returns whether it is closed. Requires the lock. */
    boolean closeIfUnused(OpenFile unused) {
        open = null;
        if (unused.isInUse()) {
            open = unused;
            return false;
        }
        unused.database.close();
        return true;
    }

    /** Ends the use of the file. Returns it, for the caller to close; null if it is not open. Requires the lock. */
    OpenFile end() {
        isEnded = true;
        OpenFile last = open;
        open = null;
        return last;
    }
}
