package org.apache.geaflow.store;

/** What a builder builds. */
public interface StoreDesc {
    boolean isLocalStore();

    String name();
}
