/** Not part of the API: native methods, and the loading of the native library. */
package org.fulgurite.internal;
