/** The payloads of the profiler's messages. */
package io.waybill.profiler.message;
