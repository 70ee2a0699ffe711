/**
 * Tables of typed keys and values, whose keys sort in the order of the type. Programs in Rust and Python read and write
 * the same tables. See {@link org.fulgurite.typed.TypedTable}.
 */
package org.fulgurite.typed;
