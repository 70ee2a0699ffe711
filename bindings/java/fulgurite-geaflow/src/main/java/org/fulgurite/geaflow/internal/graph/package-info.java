/** Stores of graphs. */
package org.fulgurite.geaflow.internal.graph;
