/**
 * Messages out: how a request or a response is appended to this worker's own queues, and what follows that.
 *
 * <p>Start with {@link io.waybill.worker.publish.QueueAppender}, the one way of a record into a queue, and
 * {@link io.waybill.worker.publish.Publication}, what the writers of requests and responses pass to it.
 */
package io.waybill.worker.publish;
