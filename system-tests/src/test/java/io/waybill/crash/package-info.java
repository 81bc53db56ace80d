/**
 * Real workers under traffic that are killed, paused or left without disk space, again and again, and the judgement of what became of
 * every call.
 *
 * <p>{@link io.waybill.crash.CrashRun} drives; {@link io.waybill.crash.CrashProcess} is what it starts; {@code history} judges and knows
 * nothing of the broker; {@code agent} makes a process kill itself at a named point, or plants a bug in it.
 */
package io.waybill.crash;
