/**
 * The exceptions of Fulgurite. All extend {@link org.fulgurite.exceptions.FulguriteException}, whose {@link
 * org.fulgurite.exceptions.ErrorKind} says what failed.
 */
package org.fulgurite.exceptions;
