package org.fulgurite.geaflow.samples;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import java.io.ByteArrayOutputStream;
import org.apache.geaflow.state.serializer.IKVSerializer;

/** Texts as keys, and any values by Kryo, as GeaFlow serialises whole lists and maps. */
public final class KryoValues<V> implements IKVSerializer<String, V> {
    private static final long serialVersionUID = 1L;
    private static final int BUFFER_BYTES = 4096;
    private static final ThreadLocal<Kryo> KRYO = ThreadLocal.withInitial(Kryo::new);

    private final Texts texts = new Texts();

    @Override
    public byte[] serializeKey(String key) {
        return texts.serializeKey(key);
    }

    @Override
    public String deserializeKey(byte[] bytes) {
        return texts.deserializeKey(bytes);
    }

    @Override
    public byte[] serializeValue(V value) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(BUFFER_BYTES);
        try (Output output = new Output(bytes)) {
            KRYO.get().writeClassAndObject(output, value);
        }
        return bytes.toByteArray();
    }

    @Override
    @SuppressWarnings("unchecked")
    public V deserializeValue(byte[] bytes) {
        return (V) KRYO.get().readClassAndObject(new Input(bytes));
    }
}
