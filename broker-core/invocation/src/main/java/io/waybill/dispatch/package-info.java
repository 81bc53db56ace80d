/**
 * Dispatch tables: the handlers of this process by request type and by name, the threads that run them, and the keys of
 * removed handlers.
 *
 * <p>Nothing here knows where handlers come from (bundles, or a plain program) or where requests come from. The worker
 * parks requests; whether a request may park is decided by {@link io.waybill.dispatch.HandlerTable.Absence}.
 *
 * <h2>Starting points</h2>
 * <ul>
 * <li>{@link io.waybill.dispatch.HandlerRegistry} to publish and withdraw handlers
 * <li>{@link io.waybill.dispatch.HandlerTable} to find the handler of a request
 * <li>{@link io.waybill.dispatch.HandlerExecutor} for the threads of one provider
 * </ul>
 */
package io.waybill.dispatch;
