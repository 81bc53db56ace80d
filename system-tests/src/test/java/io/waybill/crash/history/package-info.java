/**
 * Judges what became of the calls of a home: a checker that shares no code with the broker. It reads the journals by their documented
 * layout, the logs that callers kept and the tallies that handlers kept, and tells everything that the promises rule out.
 *
 * <p>Start with {@link io.waybill.crash.history.Checker}; {@link io.waybill.crash.history.Problem.Kind} lists what it looks for.
 */
package io.waybill.crash.history;
