package org.fulgurite.rdf4j.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.StringReader;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import org.eclipse.rdf4j.model.Model;
import org.eclipse.rdf4j.model.Resource;
import org.eclipse.rdf4j.model.impl.LinkedHashModel;
import org.eclipse.rdf4j.model.vocabulary.RDF;
import org.eclipse.rdf4j.model.vocabulary.RDFS;
import org.eclipse.rdf4j.repository.Repository;
import org.eclipse.rdf4j.repository.RepositoryConnection;
import org.eclipse.rdf4j.repository.config.RepositoryConfig;
import org.eclipse.rdf4j.repository.manager.LocalRepositoryManager;
import org.eclipse.rdf4j.repository.sail.config.SailRepositoryConfig;
import org.eclipse.rdf4j.rio.RDFFormat;
import org.eclipse.rdf4j.rio.Rio;
import org.eclipse.rdf4j.sail.config.SailConfigException;
import org.eclipse.rdf4j.sail.config.SailFactory;
import org.eclipse.rdf4j.sail.config.SailRegistry;
import org.eclipse.rdf4j.sail.lmdb.config.LmdbStoreConfig;
import org.fulgurite.options.Durability;
import org.fulgurite.rdf4j.FulguriteStore;
import org.fulgurite.rdf4j.queries.StoreEvaluationStrategyFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FulguriteStoreConfigTest {
    @TempDir
    Path directory;

    private static FulguriteStoreConfig parse(String properties) throws Exception {
        String text = "@prefix sail: <http://www.openrdf.org/config/sail#> .\n"
                + "@prefix lmdb: <http://rdf4j.org/config/sail/lmdb#> .\n"
                + "@prefix config: <tag:rdf4j.org,2023:config/> .\n"
                + "@prefix native: <http://www.openrdf.org/config/sail/native#> .\n"
                + "@prefix base: <http://www.openrdf.org/config/sail/base#> .\n"
                + "@prefix ful: <" + FulguriteStoreSchema.NAMESPACE + "> .\n"
                + "[] sail:sailType \"fulgurite:FulguriteStore\" " + properties + " .";
        Model model = Rio.parse(new StringReader(text), RDFFormat.TURTLE);
        FulguriteStoreConfig config = new FulguriteStoreConfig();
        config.parse(model, model.subjects().iterator().next());
        config.validate();
        return config;
    }

    @Test
    void aConfigurationIsParsedAsItWasExported() throws Exception {
        FulguriteStoreConfig config = parse("; ful:tripleIndexes \"spoc,posc\"; ful:durability \"log\"; ful:cacheBytes 1000;"
                + " ful:valueCacheSize 0; ful:queryEngine \"store\"; ful:queryMemory 0; ful:checkpointInterval 0;"
                + " ful:readOnly true");
        Model exported = new LinkedHashModel();
        Resource node = config.export(exported);
        FulguriteStoreConfig again = new FulguriteStoreConfig();
        again.parse(exported, node);
        assertEquals("spoc,posc", again.getTripleIndexes());
        assertEquals(Durability.LOG, again.getDurability());
        assertEquals(1000, again.getCacheBytes());
        assertEquals(0, again.getValueCacheSize());
        assertEquals(QueryEngine.STORE, again.getQueryEngine());
        assertEquals(0, again.getQueryMemory());
        assertEquals(0, again.getCheckpointInterval());
        assertTrue(again.isReadOnly());
        assertEquals(FulguriteStoreConfig.CHECKPOINT_INTERVAL, parse("").getCheckpointInterval());
        assertFalse(parse("").isReadOnly());
        assertFalse(parse("; ful:readOnly false").isReadOnly());
        assertEquals("posg,pos,spog,spo".length(), again.nativeIndexes().length());
    }

    @Test
    void theKeysOfAnLmdbStoreAndANativeStoreAreUnderstood() throws Exception {
        FulguriteStoreConfig config = parse("; lmdb:tripleIndexes \"spoc,ospc,psoc\"; lmdb:forceSync false;"
                + " lmdb:tripleDBSize 10485760; lmdb:valueDBSize 10485760; lmdb:valueCacheSize 512; lmdb:autoGrow true");
        assertEquals("spoc,ospc,psoc", config.getTripleIndexes());
        assertEquals(Durability.LOG, config.getDurability());
        assertEquals(512, config.getValueCacheSize());
        assertEquals(Durability.DISK, parse("; lmdb:forceSync true").getDurability());
        assertEquals(Durability.LOG, parse("; ful:durability \"log\"; lmdb:forceSync true").getDurability());
        FulguriteStoreConfig current = parse("; config:native.tripleIndexes \"spoc\"; config:native.forceSync false;"
                + " config:native.valueCacheSize 1024");
        assertEquals("spoc", current.getTripleIndexes());
        assertEquals(Durability.LOG, current.getDurability());
        assertEquals(1024, current.getValueCacheSize());
        FulguriteStoreConfig old = parse("; native:tripleIndexes \"posc\"; native:forceSync false;"
                + " native:valueCacheSize 2048");
        assertEquals("posc", old.getTripleIndexes());
        assertEquals(Durability.LOG, old.getDurability());
        assertEquals(2048, old.getValueCacheSize());
        assertEquals(FulguriteStoreConfig.QUERY_MEMORY, parse("").getQueryMemory());
        assertEquals(FulguriteStoreConfig.VALUE_CACHE_SIZE, parse("").getValueCacheSize());
        assertEquals(FulguriteStoreConfig.VALUE_CACHE_SIZE, parse("; ful:valueCacheSize -1").getValueCacheSize());
    }

    @Test
    void theSettersOfAnLmdbStoreExist() throws Exception {
        for (Method setter : LmdbStoreConfig.class.getDeclaredMethods()) {
            if (setter.getName().startsWith("set") && Modifier.isPublic(setter.getModifiers())) {
                Class<?> type = setter.getParameterTypes()[0];
                assertEquals(
                        FulguriteStoreConfig.class,
                        FulguriteStoreConfig.class.getMethod(setter.getName(), type).getReturnType());
                Method getter = FulguriteStoreConfig.class.getMethod("g" + setter.getName().substring(1));
                assertEquals(type, getter.getReturnType());
            }
        }
    }

    @Test
    void rdf4jsOwnDefaultEvaluationIsThatOfTheStore() throws Exception {
        String name = "org.eclipse.rdf4j.query.algebra.evaluation.impl.%sEvaluationStrategyFactory";
        for (String known : new String[] {"Strict", "Default"}) {
            FulguriteStoreConfig config =
                    parse("; base:evaluationStrategyFactory \"" + String.format(name, known) + "\"");
            assertEquals(String.format(name, known), config.getEvaluationStrategyFactoryClassName());
            assertTrue(new FulguriteStore(config).getEvaluationStrategyFactory()
                    instanceof StoreEvaluationStrategyFactory);
        }
    }

    @Test
    void wrongValuesAreErrors() {
        for (String[] wrong : new String[][] {
            {"ful:durability \"often\"", "durability", "often", "\"memory\", \"log\" or \"disk\""},
            {"ful:cacheBytes \"many\"", "cacheBytes", "many", "a number of bytes"},
            {"ful:cacheBytes -5", "cacheBytes", "-5", "a number of bytes, at least 0"},
            {"ful:valueCacheSize \"many\"", "valueCacheSize", "many", "a whole number"},
            {"ful:valueCacheSize 3000000000", "valueCacheSize", "3000000000", "a whole number up to 2147483647"},
            {"lmdb:valueCacheSize 3000000000", "lmdb#valueCacheSize", "3000000000", "a whole number up to 2147483647"},
            {"ful:queryMemory -5", "queryMemory", "-5", "a number of bytes, at least 0"},
            {"ful:checkpointInterval \"often\"", "checkpointInterval", "often", "a whole number of seconds"},
            {"ful:readOnly \"often\"", "readOnly", "often", "true or false"},
            {"ful:durability \"log\", \"disk\"", "durability", "has 2 values; it must have one"},
            {"ful:queryEngine \"fast\"", "queryEngine", "fast", "\"rdf4j\" or \"store\""},
            {"lmdb:forceSync \"often\"", "lmdb#forceSync", "often", "true or false"},
            {"ful:quryEngine \"store\"", "quryEngine", "its keys are tripleIndexes", "queryEngine"},
        }) {
            String message = assertThrows(SailConfigException.class, () -> parse("; " + wrong[0])).getMessage();
            for (String part : wrong) {
                assertTrue(part == wrong[0] || message.contains(part), message);
            }
        }
        assertThrows(IllegalArgumentException.class, () -> new FulguriteStoreConfig().setCacheBytes(-1));
        SailConfigException error = assertThrows(SailConfigException.class, () -> parse("; ful:tripleIndexes \"spx\""));
        assertTrue(error.getMessage().contains("spx"), error::getMessage);
    }

    @Test
    void theRegistryAndTheRepositoryManagerFindTheStore() {
        SailFactory factory =
                SailRegistry.getInstance().get(FulguriteStoreFactory.SAIL_TYPE).orElseThrow();
        assertTrue(factory instanceof FulguriteStoreFactory);
        LocalRepositoryManager manager = new LocalRepositoryManager(directory.toFile());
        manager.init();
        manager.addRepositoryConfig(
                new RepositoryConfig("people", "People", new SailRepositoryConfig(new FulguriteStoreConfig("spoc"))));
        Repository repository = manager.getRepository("people");
        try (RepositoryConnection connection = repository.getConnection()) {
            connection.add(RDF.NIL, RDF.TYPE, RDFS.RESOURCE);
        }
        manager.shutDown();
        manager = new LocalRepositoryManager(directory.toFile());
        manager.init();
        try (RepositoryConnection connection = manager.getRepository("people").getConnection()) {
            assertEquals(1, connection.size());
        }
        manager.shutDown();
    }
}
