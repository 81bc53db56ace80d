package org.acme.shards;

import io.waybill.api.Invocation;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.broker.Broker;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.InterceptsMessage;
import io.waybill.api.intercept.OutgoingCall;
import java.util.List;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * Sends calls of {@code cart.*} to {@code carts} on to the worker among {@code cart-0}, {@code cart-1}, … that has the
 * customer, by rendezvous hashing: when one of them leaves, only its customers move.
 */
@Component
@InterceptsMessage("cart.*")
public final class Shards implements CallInterceptor {

    /** Receiver that programs name, which is no worker. */
    static final String ALL = "carts";

    private static final String PREFIX = "cart-";

    private final Broker broker;

    @Activate
    public Shards(@Reference Broker broker) {
        this.broker = broker;
    }

    @Override
    public void onRequest(OutgoingCall call) throws RejectedMessageException {
        if (call.to().equals(ALL)) {
            Value customer =
                    Invocation.decode(call.payload(), call.tensors()).named().get("customer");
            call.redirect(shardOf(String.valueOf(customer)));
        }
    }

    private String shardOf(String customer) {
        List<String> shards = broker.peers().stream()
                .map(peer -> peer.worker().name())
                .filter(name -> name.startsWith(PREFIX))
                .toList();
        String best = ALL; // of which the call says that there is no such worker
        int most = Integer.MIN_VALUE;
        for (String shard : shards) {
            int weight = (shard + '/' + customer).hashCode() * 0x9E3779B9;
            if (best.equals(ALL) || weight > most) {
                most = weight;
                best = shard;
            }
        }
        return best;
    }
}
