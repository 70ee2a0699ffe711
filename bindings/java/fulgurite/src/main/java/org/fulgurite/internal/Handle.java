package org.fulgurite.internal;

import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.fulgurite.exceptions.ErrorKind;
import org.fulgurite.exceptions.FulguriteException;

/**
 * The handle of a native object. If its owner is garbage-collected before it is closed, the handle is closed and a
 * warning is logged. With the system property {@code fulgurite.leaks=trace}, the warning contains the stack trace of
 * the place where the object was opened; this makes opening slower.
 */
public final class Handle extends PhantomReference<Object> {
    private static final Logger LOGGER = Logger.getLogger("org.fulgurite");
    private static final boolean TRACED = "trace".equals(System.getProperty("fulgurite.leaks"));
    private static final ReferenceQueue<Object> COLLECTED = new ReferenceQueue<>();

    /** Open handles, which would otherwise be garbage themselves. */
    private static final Set<Handle> OPEN = newSet();

    static {
        Thread thread = new Thread(Handle::closeCollected, "fulgurite-cleaner");
        thread.setDaemon(true);
        thread.setContextClassLoader(null);
        thread.start();
    }

    private final AtomicLong raw;
    private final String name;
    private final boolean reported;
    private final Set<Handle> siblings;
    private final Throwable opened;

    /** Handles that are closed before this one; null if there are none. */
    private volatile Set<Handle> children;

    /**
     * Manages a handle.
     *
     * @param owner the object that closes the handle
     * @param raw the handle
     * @param name what it is, for messages
     * @param reported whether to log a warning if the owner is collected without being closed
     * @param siblings a set that has this handle while it is open
     */
    public Handle(Object owner, long raw, String name, boolean reported, Set<Handle> siblings) {
        super(owner, COLLECTED);
        this.raw = new AtomicLong(raw);
        this.name = name;
        this.reported = reported;
        this.opened = TRACED ? new Throwable("opened here") : null;
        this.siblings = siblings;
        siblings.add(this);
        OPEN.add(this);
    }

    /** Sets the handles that are closed first if this one leaks. Their owners reference the owner of this one. */
    public void setChildren(Set<Handle> handles) {
        children = handles;
    }

    /** Returns a set for handles that are closed together. */
    public static Set<Handle> newSet() {
        return ConcurrentHashMap.newKeySet();
    }

    /** Returns the handle, or throws if it is closed. */
    public long raw() {
        long current = raw.get();
        if (current == 0) {
            throw closed();
        }
        return current;
    }

    private FulguriteException closed() {
        return Exceptions.of(ErrorKind.CLOSED, "this " + name + " is closed");
    }

    /** Closes this new handle and throws, if the handle of its parent was closed meanwhile. */
    public void checkParent(Handle parent) {
        if (!parent.isOpen()) {
            close();
            throw parent.closed();
        }
    }

    /** Returns what the object is, as messages name it. */
    public String name() {
        return name;
    }

    /** Returns whether the handle is not closed. */
    public boolean isOpen() {
        return raw.get() != 0;
    }

    /**
     * Ends the management, and returns the handle for the caller to close: 0 if it is closed already. Throws, and leaves
     * the handle as it is, if a merge function runs on this thread and cannot close it.
     */
    public long release() {
        checkClosable();
        return end();
    }

    private void checkClosable() {
        long current = raw.get();
        if (current != 0 && MergeCalls.isRunning()) {
            Native.checkClosable(current);
        }
    }

    private long end() {
        OPEN.remove(this);
        siblings.remove(this);
        clear();
        return raw.getAndSet(0);
    }

    /**
     * Closes the native object, after running calls with it have returned. If another thread closes it, waits until that
     * is done. Does nothing if it is closed already. In a merge function, throws if the function cannot close it, and
     * does not wait: the other thread may wait for the call that called the function.
     */
    public void close() {
        checkClosable();
        if (isOpen() || !MergeCalls.isRunning()) {
            closeOnce();
            end();
        }
    }

    /** Closes the native object, and returns whether this call has done so. A parent still knows the handle meanwhile. */
    private synchronized boolean closeOnce() {
        long released = raw.getAndSet(0);
        if (released != 0) {
            Native.close(released);
        }
        return released != 0;
    }

    private static void closeCollected() {
        while (true) {
            try {
                ((Handle) COLLECTED.remove()).closeLeaked();
            } catch (InterruptedException ignored) {
                // Nobody has a reference to this thread; it ends with the virtual machine.
            } catch (RuntimeException error) {
                LOGGER.log(Level.WARNING, "an object that was not closed could not be closed", error);
            }
        }
    }

    private void closeLeaked() {
        Set<Handle> first = children;
        if (first != null) {
            first.forEach(Handle::close);
        }
        boolean wasOpen = closeOnce();
        end();
        if (wasOpen && reported) {
            LOGGER.log(
                    Level.WARNING,
                    "a " + name + " was not closed; use try-with-resources"
                            + (TRACED ? "" : " (-Dfulgurite.leaks=trace shows where it was opened)"),
                    opened);
        }
    }
}
