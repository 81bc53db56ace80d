/** Gateway for operations without a handler, which forwards them to another worker. */
package org.acme.gateway;
