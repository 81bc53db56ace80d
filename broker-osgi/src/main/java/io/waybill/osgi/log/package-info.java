/** What the framework and its services log, on the node's log. */
package io.waybill.osgi.log;
