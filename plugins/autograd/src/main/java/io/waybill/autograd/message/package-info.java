/** The payloads of the messages of distributed autograd, byte by byte. Nothing here knows of contexts or libtorch. */
package io.waybill.autograd.message;
