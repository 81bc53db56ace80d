/**
 * Changes the broker's classes as a process of a run loads them: so that it kills itself at a {@link io.waybill.crash.agent.Point}, or has
 * the bug of a {@link io.waybill.crash.agent.Mutant}. Production code knows nothing of it.
 */
package io.waybill.crash.agent;
