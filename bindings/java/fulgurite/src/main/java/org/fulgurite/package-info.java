/** An embedded storage engine: see {@link org.fulgurite.Database}. */
package org.fulgurite;
