/** Reads the entries that {@link org.fulgurite.Cursor#fill} copies into a buffer of the program. */
package org.fulgurite.buffers;
