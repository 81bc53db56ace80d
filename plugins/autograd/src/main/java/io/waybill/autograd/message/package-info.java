/** Payloads of the messages of distributed autograd, byte by byte. Independent of contexts and of libtorch. */
package io.waybill.autograd.message;
