/** A bundle with a library inside. */
package org.acme.orders;
