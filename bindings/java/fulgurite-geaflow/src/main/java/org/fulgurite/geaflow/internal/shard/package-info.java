/** Local files of shards, their checkpoints, and the settings of stores. */
package org.fulgurite.geaflow.internal.shard;
