/** Storages of checkpoints: see {@link org.fulgurite.Checkpoints}. */
package org.fulgurite.checkpoints;
