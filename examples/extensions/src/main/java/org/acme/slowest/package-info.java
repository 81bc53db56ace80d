/** Command that reads the journals for the slowest calls. */
package org.acme.slowest;
