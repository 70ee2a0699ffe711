/** The storage and the metrics of GeaFlow, as shards use them. */
package org.fulgurite.geaflow.internal.runtime;
