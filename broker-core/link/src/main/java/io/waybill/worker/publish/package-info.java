/**
 * Outgoing messages: the append of a request or a response to this worker's own queues, and the steps after it.
 *
 * <p>Start with {@link io.waybill.worker.publish.QueueAppender}, the only way of a record into a queue, and
 * {@link io.waybill.worker.publish.Publication}, which the writers of requests and responses pass to it.
 */
package io.waybill.worker.publish;
