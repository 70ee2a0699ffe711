/** Stores of values, lists and maps for each key. */
package org.fulgurite.geaflow.internal.keys;
