/** State of Apache GeaFlow in Fulgurite files: see {@link org.fulgurite.geaflow.FulguriteStoreBuilder}. */
package org.fulgurite.geaflow;
