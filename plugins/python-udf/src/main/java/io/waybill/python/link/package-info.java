/** Connections to Python processes: calls in both directions, references, and the regions that large tensors travel through. */
package io.waybill.python.link;
