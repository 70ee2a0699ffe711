/** The choices that options have. */
package org.fulgurite.options;
