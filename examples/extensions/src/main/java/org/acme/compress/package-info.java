/** Compression of large calls of some operations. */
package org.acme.compress;
