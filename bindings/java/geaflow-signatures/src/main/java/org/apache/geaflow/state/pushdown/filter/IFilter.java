package org.apache.geaflow.state.pushdown.filter;

import java.io.Serializable;
import org.apache.geaflow.state.data.DataType;

/** A condition. */
public interface IFilter<T> extends Serializable {
    boolean filter(T value);

    DataType dateType();

    default FilterType getFilterType() {
        return FilterType.OTHER;
    }
}
