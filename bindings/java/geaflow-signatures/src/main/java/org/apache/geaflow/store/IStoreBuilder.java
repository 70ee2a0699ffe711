package org.apache.geaflow.store;

import java.util.List;
import org.apache.geaflow.common.config.Configuration;
import org.apache.geaflow.state.DataModel;

/** Builds stores. GeaFlow finds builders as services. */
public interface IStoreBuilder {
    IBaseStore getStore(DataModel model, Configuration configuration);

    StoreDesc getStoreDesc();

    List<DataModel> supportedDataModel();
}
