/**
 * Calls of a context: wrapped at the caller, unwrapped at the callee, and the same for the response. Start at {@link
 * io.waybill.autograd.call.CallWrapper} and {@link io.waybill.autograd.call.ForwardHandler}.
 */
package io.waybill.autograd.call;
