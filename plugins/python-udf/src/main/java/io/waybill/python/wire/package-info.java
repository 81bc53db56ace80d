/** Frames between the gateway and a Python process: to bytes and back, with every length checked. */
package io.waybill.python.wire;
