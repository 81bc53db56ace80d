package io.waybill.python.link;

import io.waybill.api.Caller;
import io.waybill.api.Rpc;
import io.waybill.python.wire.SocketFrame;
import java.util.concurrent.CompletableFuture;

/**
 * A request that the process is serving.
 *
 * @param outcome completed by the frame that ends the exchange; exceptionally when the connection ends
 * @param caller of calls on its behalf
 * @param rpc of remote references on its behalf
 */
record ServedCall(CompletableFuture<SocketFrame> outcome, Caller caller, Rpc rpc) {}
