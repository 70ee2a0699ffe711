/** What tests and benchmarks store and read: a graph, texts, conditions, and a storage of files. GeaFlow has none of it. */
package org.fulgurite.geaflow.samples;
