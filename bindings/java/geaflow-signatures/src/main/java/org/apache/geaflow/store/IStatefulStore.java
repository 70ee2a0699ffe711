package org.apache.geaflow.store;

/** A store with checkpoints. */
public interface IStatefulStore extends IBaseStore {
    void archive(long checkpointId);

    void recovery(long checkpointId);

    long recoveryLatest();

    void compact();

    void drop();
}
