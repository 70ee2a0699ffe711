package org.fulgurite.internal;

import java.io.IOException;
import java.nio.file.Paths;
import org.fulgurite.checkpoints.CheckpointStorage;

/** Calls a storage of checkpoints for native methods. These report that a call has thrown; this object keeps what. */
public final class StorageCalls {
    private final CheckpointStorage storage;
    private Throwable failure;

    /** Calls this storage. */
    public StorageCalls(CheckpointStorage storage) {
        this.storage = storage;
    }

    /** Returns what a call has thrown since the last call of this method; null if none has. */
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
