/** What the classes of the store share: errors, and the terms of committed statements. */
package org.fulgurite.rdf4j.internal;
