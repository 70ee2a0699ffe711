/**
 * An embedded storage engine: ordered tables of byte keys and values in one file. A {@link org.fulgurite.Database} is
 * opened by its path, and has {@link org.fulgurite.Table}s. A {@link org.fulgurite.ReadTransaction} is a snapshot, and
 * a {@link org.fulgurite.WriteTransaction} changes entries. {@link org.fulgurite.Database#read} and {@link
 * org.fulgurite.Database#write} run a function in one.
 *
 * <p>Arguments must not be null, and results are not null, unless the documentation of the method says so. Keys and
 * values are copied, so the program can change its arrays after a call.
 *
 * <p>A database reports errors as {@link org.fulgurite.exceptions.FulguriteException}s, which are unchecked. Any method
 * can throw one, such as a {@link org.fulgurite.exceptions.ClosedException} if its object was closed. The documentation
 * of a method names only the kinds that a caller should expect.
 *
 * <p>Threads can share databases, tables, transactions and checkpoints. The documentation of other classes says if they
 * are for one thread at a time.
 */
package org.fulgurite;
