/** Large calls of some operations travel compressed. */
package org.acme.compress;
