package org.fulgurite.geaflow.internal.keys;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import org.apache.geaflow.state.DataModel;
import org.apache.geaflow.store.IStoreBuilder;
import org.apache.geaflow.store.rocksdb.KVRocksdbStoreBase;
import org.fulgurite.geaflow.FulguriteStoreBuilder;
import org.fulgurite.geaflow.RocksdbAliasStoreBuilder;
import org.fulgurite.geaflow.WithJob;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Programs, GeaFlow's own tests among them, cast the store of values under the name ROCKSDB to GeaFlow's class. */
class RocksdbKeyValueStoreTest extends WithJob {
    @BeforeEach
    void useTheAlias() {
        System.setProperty("fulgurite.geaflow.rocksdb", "true");
    }

    @AfterEach
    void endTheAlias() {
        System.clearProperty("fulgurite.geaflow.rocksdb");
    }

    @SuppressWarnings("unchecked")
    private static KVRocksdbStoreBase<String, String> store() {
        return (KVRocksdbStoreBase<String, String>) new RocksdbAliasStoreBuilder().getStore(DataModel.KV, null);
    }

    @Test
    void aStoreOfValuesUnderTheAliasCanBeCastToTheClassOfGeaFlowAndUsed() {
        KVRocksdbStoreBase<String, String> store = store();
        store.init(context(0));
        assertEquals(-1, store.recoveryLatest());
        for (int id = 1; id < 10; id++) {
            store.put("hello", "world" + id);
            store.put("foo", "bar" + id);
            store.flush();
            store.archive(id);
        }
        store.close();
        store.drop();
        store = store();
        store.init(context(0));
        assertNull(store.get("hello"));
        assertEquals(9, store.recoveryLatest());
        assertEquals("world9", store.get("hello"));
        store.remove("hello");
        store.compact();
        assertNull(store.get("hello"));
        assertEquals("bar9", store.get("foo"));
        store.drop();
        store.recovery(8);
        assertEquals("bar8", store.get("foo"));
        assertNotNull(store.getFilterConverter());
        store.drop();
    }

    /** A method that is not overridden would use RocksDB, which is not open. */
    @Test
    void everyPublicMethodOfTheClassOfGeaFlowIsOverridden() {
        int own = 0;
        for (Method method : RocksdbKeyValueStore.class.getMethods()) {
            Class<?> by = method.getDeclaringClass();
            assertTrue(by == RocksdbKeyValueStore.class || by == Object.class, method::toString);
            own += by == RocksdbKeyValueStore.class ? 1 : 0;
        }
        assertEquals(12, own);
    }

    @Test
    void onlyTheAliasHasStoresOfThatClass() {
        assertEquals(KeyValueStore.class, new FulguriteStoreBuilder().getStore(DataModel.KV, null).getClass());
        assertEquals(KeyListStore.class, new RocksdbAliasStoreBuilder().getStore(DataModel.KList, null).getClass());
        System.clearProperty("fulgurite.geaflow.rocksdb");
        assertEquals(KeyValueStore.class, new RocksdbAliasStoreBuilder().getStore(DataModel.KV, null).getClass());
    }

    /** Loads the classes of this module again, without GeaFlow's store of RocksDB on the class path. */
    private static final class WithoutRocksdb extends URLClassLoader {
        WithoutRocksdb(URL classes) {
            super(new URL[] {classes}, RocksdbKeyValueStoreTest.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.startsWith("org.apache.geaflow.store.rocksdb.")) {
                throw new ClassNotFoundException(name);
            }
            if (!name.startsWith("org.fulgurite.geaflow.")) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                return loaded == null ? findClass(name) : loaded;
            }
        }
    }

    @Test
    void withoutTheClassOfGeaFlowTheAliasHasThePlainStore() throws IOException, ReflectiveOperationException {
        URL classes = RocksdbAliasStoreBuilder.class.getProtectionDomain().getCodeSource().getLocation();
        try (URLClassLoader loader = new WithoutRocksdb(classes)) {
            IStoreBuilder builder = (IStoreBuilder) loader.loadClass(RocksdbAliasStoreBuilder.class.getName())
                    .getConstructor()
                    .newInstance();
            assertEquals("ROCKSDB", builder.getStoreDesc().name());
            assertEquals(
                    KeyValueStore.class.getName(),
                    builder.getStore(DataModel.KV, null).getClass().getName());
        }
    }
}
