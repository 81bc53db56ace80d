/**
 * Context of a call: named values and a trace that accompany a call into its handler, and into the calls that the
 * handler makes.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.api.context.CallContext} for the values, and for making them current on a thread
 *   <li>{@link io.waybill.api.context.TraceContext} for the trace
 * </ul>
 */
@Version("1.0.0")
package io.waybill.api.context;

import org.osgi.annotation.versioning.Version;
