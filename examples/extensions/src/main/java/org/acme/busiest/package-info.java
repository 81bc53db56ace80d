/** Command that shows the operations of a node with their rates. */
package org.acme.busiest;
