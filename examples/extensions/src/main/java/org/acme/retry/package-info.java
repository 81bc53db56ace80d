/** Repetition of calls whose receiver could not serve them yet. */
package org.acme.retry;
