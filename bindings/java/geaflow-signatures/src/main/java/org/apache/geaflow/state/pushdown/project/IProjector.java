package org.apache.geaflow.state.pushdown.project;

import java.io.Serializable;

/** Computes something from an element. */
public interface IProjector<T, R> extends Serializable {
    R project(T value);
}
