/** Arguments of options and transactions: durability, isolation, and how tables merge values. */
package org.fulgurite.options;
