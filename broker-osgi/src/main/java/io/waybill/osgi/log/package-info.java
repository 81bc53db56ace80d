/** Log service of the framework, which writes to the node's log. */
package io.waybill.osgi.log;
