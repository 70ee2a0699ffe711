/** Entries in buffers of the caller. */
package org.fulgurite.buffers;
