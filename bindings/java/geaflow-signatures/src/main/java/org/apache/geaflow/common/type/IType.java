package org.apache.geaflow.common.type;

import java.io.Serializable;

/** The type of ids, with their bytes. */
public interface IType<T> extends Serializable {
    Class<T> getTypeClass();

    byte[] serialize(T value);

    T deserialize(byte[] bytes);
}
