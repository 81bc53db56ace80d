/** Calls that are repeated when their receiver could not serve them yet. */
package org.acme.retry;
