/** Cache of responses, which saves calls of the handler. */
package org.acme.cache;
