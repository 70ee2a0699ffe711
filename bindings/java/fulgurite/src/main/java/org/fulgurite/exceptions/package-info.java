/** The exceptions of Fulgurite: see {@link org.fulgurite.exceptions.FulguriteException}. */
package org.fulgurite.exceptions;
