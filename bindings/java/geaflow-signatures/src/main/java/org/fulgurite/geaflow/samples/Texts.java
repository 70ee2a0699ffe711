package org.fulgurite.geaflow.samples;

import java.nio.charset.StandardCharsets;
import org.apache.geaflow.state.serializer.IKMapSerializer;
import org.apache.geaflow.state.serializer.IKVSerializer;

/** The bytes of texts. */
public final class Texts implements IKVSerializer<String, String>, IKMapSerializer<String, String, String> {
    private static final long serialVersionUID = 1L;

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    @Override
    public byte[] serializeKey(String key) {
        return bytes(key);
    }

    @Override
    public String deserializeKey(byte[] bytes) {
        return text(bytes);
    }

    @Override
    public byte[] serializeValue(String value) {
        return bytes(value);
    }

    @Override
    public String deserializeValue(byte[] bytes) {
        return text(bytes);
    }

    @Override
    public byte[] serializeUK(String key) {
        return bytes(key);
    }

    @Override
    public String deserializeUK(byte[] bytes) {
        return text(bytes);
    }

    @Override
    public byte[] serializeUV(String value) {
        return bytes(value);
    }

    @Override
    public String deserializeUV(byte[] bytes) {
        return text(bytes);
    }
}
