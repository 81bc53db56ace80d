/**
 * Host services of the core: the time, files, other processes, threads, and the few system calls that Java lacks. No
 * other code of the core reads the clock, opens a file, inspects a process or starts a thread; it gets a
 * {@link io.waybill.host.Host}.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.host.Host#real()} for the real host
 * <li>{@link io.waybill.host.SafeFiles} to open files
 * <li>{@link io.waybill.host.Processes} to check whether a process is alive
 * </ul>
 */
package io.waybill.host;
