/**
 * Backward passes across workers: each worker's part, and the messages between the parts. Start at
 * {@link io.waybill.autograd.pass.Passes}.
 */
package io.waybill.autograd.pass;
