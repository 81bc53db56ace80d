/** A command that shows which operations a node serves, and how often. */
package org.acme.busiest;
