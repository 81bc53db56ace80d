/**
 * What the core asks of its host: the time, files, other processes, threads, and the few system calls that Java lacks. Nothing
 * else in the core asks for the clock, opens a file, looks at a process or starts a thread by itself; what it needs comes in a
 * {@link io.waybill.host.Host}.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.host.Host#real()} for the real thing
 *   <li>{@link io.waybill.host.SafeFiles} to open anything
 *   <li>{@link io.waybill.host.Processes} to ask whether a process lives
 * </ul>
 */
package io.waybill.host;
