/** Connections to Python processes: calls in both directions, references, and the regions for large tensors. */
package io.waybill.python.link;
