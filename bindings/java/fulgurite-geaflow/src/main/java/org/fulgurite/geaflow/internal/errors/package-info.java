/** Errors of the engine, as stores report them. */
package org.fulgurite.geaflow.internal.errors;
