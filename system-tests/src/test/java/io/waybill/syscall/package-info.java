/**
 * A worker whose process fails at its n-th system call of a kind, for each n, and what becomes of its calls, its peers and its next
 * incarnation.
 *
 * <p>{@link io.waybill.syscall.FaultRun} runs a {@link io.waybill.syscall.FaultCase}; {@link io.waybill.syscall.SubjectMain} is the process whose
 * calls fail; {@link io.waybill.process.SyscallFaults} makes them fail.
 */
package io.waybill.syscall;
