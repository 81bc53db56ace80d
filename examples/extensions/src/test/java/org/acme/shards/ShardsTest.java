package org.acme.shards;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Message;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.Outbox;
import io.waybill.testing.TestBroker;
import io.waybill.testing.WaybillExtension;
import io.waybill.testing.WorkerSetup;
import io.waybill.testing.core.Waits;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Calls to a name of no worker, before and after there are shards. */
@Timeout(120)
class ShardsTest {

    private static final int CUSTOMERS = 60;

    @RegisterExtension
    static final WaybillExtension WAYBILL = WaybillExtension.withBundle(Path.of("target/bundles/shards"));

    private static void join(TestBroker broker, String shard) throws Exception {
        broker.join(shard);
        broker.handle(shard, "cart.get", (message, outbox) -> outbox.response().text("shard", shard));
    }

    private static String shardOf(TestBroker broker, String customer) {
        Request request = Request.operation(Shards.ALL, "cart.get");
        request.body().text("customer", customer);
        try (Response response = broker.server().call(request)) {
            return response.text("shard");
        }
    }

    private static Map<String, String> shards(TestBroker broker) {
        Map<String, String> shards = new TreeMap<>();
        for (int i = 0; i < CUSTOMERS; i++) {
            shards.put("customer" + i, shardOf(broker, "customer" + i));
        }
        return shards;
    }

    @Test
    void sendsEachCustomerToItsShard(TestBroker broker) throws Exception {
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> shardOf(broker, "customer1"))
                .satisfies(failure -> assertThat(failure.code()).isEqualTo(ErrorCode.UNKNOWN_WORKER));
        join(broker, "cart-0");
        join(broker, "cart-1");
        Map<String, String> two = shards(broker);
        assertThat(two.values()).contains("cart-0", "cart-1");
        assertThat(shards(broker)).isEqualTo(two);

        join(broker, "cart-2");
        Map<String, String> three = shards(broker);
        assertThat(three.values()).contains("cart-0", "cart-1", "cart-2");
        three.forEach((customer, shard) -> assertThat(shard)
                .as("the shard of %s, unless it moved to the new one", customer)
                .isIn(two.get(customer), "cart-2"));
    }

    /** A shard that can be killed, because it is in a process of its own; its name is that process's id. */
    static final class Cart implements MessageHandler {

        @Override
        public void handle(Message message, Outbox outbox) {
            outbox.response()
                    .text("shard", Long.toString(ProcessHandle.current().pid()));
        }
    }

    private static boolean areServedBy(TestBroker broker, int shards) {
        try {
            return Set.copyOf(shards(broker).values()).size() == shards;
        } catch (CallException e) {
            assertThat(e.code()).isIn(ErrorCode.WORKER_LOST, ErrorCode.UNKNOWN_WORKER);
            return false; // it was called in the instant of its end
        }
    }

    @Test
    void movesTheCustomersOfAKilledShardAndGivesThemBack(TestBroker broker) throws Exception {
        WorkerSetup setup = WorkerSetup.of().handler("cart.get", Cart.class);
        broker.startProcess("cart-0", setup);
        broker.startProcess("cart-1", setup);
        Waits.until("both have customers", () -> areServedBy(broker, 2));
        broker.kill("cart-1");
        Waits.until("the other one has all", () -> areServedBy(broker, 1));
        broker.restart("cart-1");
        Waits.until("both have customers again", () -> areServedBy(broker, 2));
    }
}
