/** The change feed: the commits of a database, in order. */
package org.fulgurite.changes;
