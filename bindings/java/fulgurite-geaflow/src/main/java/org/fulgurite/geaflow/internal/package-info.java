/** The stores, which GeaFlow uses by its interfaces. */
package org.fulgurite.geaflow.internal;
