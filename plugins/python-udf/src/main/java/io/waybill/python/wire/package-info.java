/** Frames between the gateway and a Python process: encoding, and decoding with a check of every length. */
package io.waybill.python.wire;
