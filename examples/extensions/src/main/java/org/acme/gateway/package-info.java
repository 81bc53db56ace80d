/** Operations that no handler of a worker takes, handled by another worker. */
package org.acme.gateway;
