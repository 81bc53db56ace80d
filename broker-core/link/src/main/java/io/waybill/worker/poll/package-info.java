/**
 * Polling: the thread that reads the peers' queues, and the waiting of threads.
 *
 * <p>One thread at a time has the {@link io.waybill.worker.poll.PollPermit}. The {@link io.waybill.worker.poll.Poller}
 * has it in the background; callers that wait for a response take it ({@link io.waybill.worker.poll.WaitingCallers}).
 * The queues are behind {@link io.waybill.worker.poll.Polled}: this package knows neither calls nor requests. It also
 * knows which handler each thread is inside ({@link io.waybill.worker.poll.HandlerSlots}), because that decides whether
 * the thread may wait.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.worker.poll.Poller} for the background thread
 * <li>{@link io.waybill.worker.poll.PollTurns} for the sharing of the permit by threads
 * </ul>
 */
package io.waybill.worker.poll;
