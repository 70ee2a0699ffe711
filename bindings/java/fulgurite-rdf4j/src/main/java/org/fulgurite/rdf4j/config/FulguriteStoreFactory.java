package org.fulgurite.rdf4j.config;

import org.eclipse.rdf4j.sail.Sail;
import org.eclipse.rdf4j.sail.config.SailConfigException;
import org.eclipse.rdf4j.sail.config.SailFactory;
import org.eclipse.rdf4j.sail.config.SailImplConfig;
import org.fulgurite.rdf4j.FulguriteStore;

/** Creates stores from configurations. RDF4J finds it by {@code META-INF/services}. */
public class FulguriteStoreFactory implements SailFactory {
    /** The type of the configuration. */
    public static final String SAIL_TYPE = "fulgurite:FulguriteStore";

    /** Creates a factory. */
    public FulguriteStoreFactory() {}

    @Override
    public String getSailType() {
        return SAIL_TYPE;
    }

    @Override
    public SailImplConfig getConfig() {
        return new FulguriteStoreConfig();
    }

    @Override
    public Sail getSail(SailImplConfig config) {
        if (!SAIL_TYPE.equals(config.getType())) {
            throw new SailConfigException("the type of the Sail is " + config.getType() + ", not " + SAIL_TYPE);
        }
        FulguriteStoreConfig own;
        if (config instanceof FulguriteStoreConfig) {
            own = (FulguriteStoreConfig) config;
        } else {
            throw new SailConfigException("the configuration is a " + config.getClass().getName());
        }
        return new FulguriteStore(own);
    }
}
