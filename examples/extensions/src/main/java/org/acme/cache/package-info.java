/** Responses that were given before, without their handler. */
package org.acme.cache;
