/**
 * The contexts of this worker: which there are, which one a thread or a request is in, which workers know of each, and how it ends
 * everywhere. Start at {@link io.waybill.autograd.context.ContextTable}.
 */
package io.waybill.autograd.context;
