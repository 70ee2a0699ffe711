/** Parts of tables that are read on their own: partitions and versions. */
package org.fulgurite.geaflow.internal.slices;
