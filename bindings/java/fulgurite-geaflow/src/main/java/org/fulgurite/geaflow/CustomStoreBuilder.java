package org.fulgurite.geaflow;

/** The builder that GeaFlow finds as {@code Custom}, one of the names that views can have as their backend. */
public final class CustomStoreBuilder extends FulguriteStoreBuilder {
    /** Creates the builder. It does not load the native library. */
    public CustomStoreBuilder() {
        super("Custom");
    }
}
