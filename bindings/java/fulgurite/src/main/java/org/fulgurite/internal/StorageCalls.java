package org.fulgurite.internal;

import java.io.IOException;
import java.nio.file.Paths;
import org.fulgurite.checkpoints.CheckpointStorage;

/** Calls a storage of checkpoints. Native methods call it, and report that a call has thrown; it keeps the reason. */
public final class StorageCalls {
    private final CheckpointStorage storage;
    private Throwable failure;

    /** Calls this storage. */
    public StorageCalls(CheckpointStorage storage) {
        this.storage = storage;
    }

    /** What the last call has thrown since this was asked last; null if none has. */
    public Throwable takeFailure() {
        Throwable taken = failure;
        failure = null;
        return taken;
    }

    private interface Call<T> {
        T run() throws IOException;
    }

    private <T> T kept(Call<T> call) throws IOException {
        try {
            return call.run();
        } catch (IOException | RuntimeException | Error thrown) {
            failure = thrown;
            throw thrown;
        }
    }

    void store(String name, String file) throws IOException {
        kept(() -> {
            storage.store(name, Paths.get(file));
            return null;
        });
    }

    void fetch(String name, String path) throws IOException {
        kept(() -> {
            storage.fetch(name, Paths.get(path));
            return null;
        });
    }

    void remove(String name) throws IOException {
        kept(() -> {
            storage.remove(name);
            return null;
        });
    }

    String[] names() throws IOException {
        return kept(() -> storage.names().toArray(new String[0]));
    }
}
