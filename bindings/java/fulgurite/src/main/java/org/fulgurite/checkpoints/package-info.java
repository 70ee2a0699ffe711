/** Where checkpoints of a database are kept: see {@link org.fulgurite.Checkpoints}. */
package org.fulgurite.checkpoints;
