/** Class rewriting that keeps a bundle from exiting the process and reports its unrecorded inputs, and start levels. */
package io.waybill.osgi.guard;
