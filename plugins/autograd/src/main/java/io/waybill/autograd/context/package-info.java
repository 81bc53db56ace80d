/**
 * Contexts of this worker: their table, the current one of a thread or request, the workers that know each, and its
 * release in all of them. Start at {@link io.waybill.autograd.context.ContextTable}.
 */
package io.waybill.autograd.context;
