package io.waybill.cli.dead;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.waybill.api.CallException;
import io.waybill.api.Invocation;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.RRef;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.context.CallContext;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.cli.dead.FailingHome.Ran;
import io.waybill.query.DepartedWorkers;
import io.waybill.testing.core.Waits;
import io.waybill.worker.Worker;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Failed calls of real workers: listed, shown, edited, sent again and refused. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class DeadCommandTest {

    private static final int LARGE = 100_000; // bytes that do not fit into a record

    @TempDir
    Path temporary;

    private FailingHome home;

    @BeforeEach
    void join() throws IOException {
        home = new FailingHome(temporary);
    }

    @AfterEach
    void leave() throws IOException {
        home.close();
    }

    private static Request take(Worker of, int bytes) {
        Storage storage = of.buffers().allocate(bytes);
        storage.bytes(0, bytes).put(0, (byte) 7).put(bytes - 1, (byte) 9);
        Request request = Request.operation("ps0", "stock.take");
        request.body().tensor("x", Tensor.contiguous(DType.UINT8, new long[] {2, bytes / 2}, storage));
        return request;
    }

    private static Request raw(String payload) {
        return Request.raw(
                "ps0",
                MessageType.userRequest(0x42),
                ByteBuffer.wrap(payload.getBytes(StandardCharsets.UTF_8)),
                List.of());
    }

    private String refused(String... args) {
        Ran ran = home.ended(1, args);
        assertThat(ran.out()).isEmpty();
        assertThat(ran.err().lines()).as(ran.err()).hasSize(1);
        return ran.err();
    }

    @Test
    void listsAFailedCallOnceWithWhatFailed() throws IOException {
        home.isBroken = false;
        home.app.call(FailingHome.pay(5)).close();
        home.isBroken = true;
        String id = home.failed(FailingHome.pay(5));
        Ran listed = home.ended(0, "dead", "list", "--json");
        assertThat(listed.ids()).as("one failed call of two calls").containsExactly(id);
        JsonNode call = listed.json().get(0);
        assertThat(call.get("from_name").asText()).isEqualTo("app");
        assertThat(call.get("to_name").asText()).isEqualTo("ps0");
        assertThat(call.get("operation").asText()).isEqualTo("orders.pay");
        assertThat(call.get("error_code").asText()).isEqualTo("HANDLER_FAILED");
        assertThat(call.get("bundle").asText()).isEqualTo("org.acme.orders");
        assertThat(call.get("bundle_version").asText()).isEqualTo("1.0.0");
        assertThat(call.get("attempt").asInt()).isEqualTo(1);
        assertThat(call.get("resent")).isEmpty();
        assertThat(home.ended(0, "dead", "list").out().lines().skip(1))
                .singleElement()
                .asString()
                .contains("  " + id + "  ", "error HANDLER_FAILED", "org.acme.orders 1.0.0", "  -");
    }

    /** A caller repeats a request under its id, so that two records of it are in its journal. */
    @Test
    void listsARequestOnceThatItsCallerRepeated() throws IOException {
        home.isHeld = true;
        try (Worker caller = home.join("caller")) {
            caller.callAsync(FailingHome.pay(5));
            Waits.until("it is in the handler", () -> !home.runs.isEmpty());
        }
        String id;
        try (Worker again = home.join("caller")) {
            long unanswered = again.unanswered(10)[0];
            id = MessageId.text(unanswered);
            CompletableFuture<Response> repeated = again.repeatAsync(unanswered, Duration.ofSeconds(60));
            Waits.until("it is there twice", () -> home.requests("orders.pay") == 2);
            home.isHeld = false;
            assertThatThrownBy(repeated::join).hasCauseInstanceOf(CallException.class);
        }
        assertThat(home.ended(0, "journal", "list", "--json").ids())
                .as("records of the request")
                .containsExactly(id, id);
        assertThat(listed()).containsExactly(id);
    }

    @Test
    void selectsByCalleeOperationCodeBundleVersionAndTime() throws IOException {
        String pay = home.failed(FailingHome.pay(5));
        String refused = home.failed(FailingHome.pay(-5));
        String take = home.failed(take(home.app, 10));
        String raw = home.failed(raw("x"));
        assertThat(listed()).containsExactly(pay, refused, take, raw);
        assertThat(listed("--worker", "ps0")).hasSize(4);
        assertThat(listed("--worker", "app")).isEmpty();
        assertThat(listed("--operation", "stock.*")).containsExactly(take);
        assertThat(listed("--code", "REFUSED")).containsExactly(refused);
        assertThat(listed("--bundle", "org.acme.stock")).as("of the bundle").containsExactly(take);
        assertThat(listed("--bundle-version", "1.0.0")).as("of the version").containsExactly(pay, refused, raw);
        assertThat(listed("--bundle", "org.acme.stock", "--bundle-version", "1.0.0"))
                .isEmpty();
        assertThat(listed("--where", "amount=-5")).containsExactly(refused);
        assertThat(listed("--until", "1h")).isEmpty();
        assertThat(listed("--since", "1h", "--limit", "2")).containsExactly(take, raw);
        assertThat(home.ended(0, "dead", "list", "--until", "1h").err()).contains("No failed call on record matches.");
    }

    private List<String> listed(String... options) throws IOException {
        String[] args = new String[options.length + 3];
        System.arraycopy(new String[] {"dead", "list", "--json"}, 0, args, 0, 3);
        System.arraycopy(options, 0, args, 3, options.length);
        return home.ended(0, args).ids();
    }

    @Test
    void sendsTheSameRequestAgainWithItsContext() throws IOException {
        CallContext tenant = CallContext.EMPTY.with("tenant", "blue");
        String id = tenant.supply(() -> home.failed(FailingHome.pay(5)));
        home.isBroken = false;
        Ran sent = home.ended(0, "dead", "resend", id, "--json");
        JsonNode result = sent.json().get(0);
        assertThat(result.get("id").asText()).isEqualTo(id);
        assertThat(result.get("outcome").asText()).isEqualTo("ok");
        assertThat(home.runs)
                .containsExactly(
                        "pay 5 note=first tenant=blue repeats=none", "pay 5 note=first tenant=blue repeats=" + id);

        assertThat(listed()).as("what waits").isEmpty();
        JsonNode call = home.ended(0, "dead", "list", "--all", "--json").json().get(0);
        String repeat = result.get("resent_as").asText();
        assertThat(call.get("resent").get(0).get("id").asText()).isEqualTo(repeat);
        assertThat(call.get("resent").get(0).get("outcome").asText()).isEqualTo("ok");
        assertThat(home.ended(0, "dead", "show", id).out())
                .contains(
                        "amount=5",
                        "the till is broken",
                        "bundle   org.acme.orders 1.0.0",
                        "sent again as " + repeat + " ok, ");
        assertThat(home.ended(0, "dead", "show", id, "--json").json().get(0).get("resent"))
                .hasSize(1);
    }

    @Test
    void sendsOtherFieldsIfTheyAreEdited() throws IOException {
        String id = home.failed(FailingHome.pay(-5));
        home.isBroken = false;
        assertThat(home.ended(1, "dead", "resend", id).err()).contains("no amount below zero", "[REFUSED]");
        String second = listed().get(0);
        home.ended(0, "dead", "resend", second, "--edit", "amount:=1500", "--edit", "note=by hand");
        assertThat(home.runs.get(2)).startsWith("pay 1500 note=by hand ").endsWith(" repeats=" + second);
        JsonNode last = home.ended(0, "dead", "show", second, "--json").json().get(0);
        assertThat(last.get("attempt").asInt()).isEqualTo(2);
        assertThat(last.get("repeats").asText()).isEqualTo(id);
        assertThat(home.ended(2, "dead", "resend", second, "--edit", "amount:=oops")
                        .err())
                .contains("--edit 'amount:=oops': expected a number");
        assertThat(home.ended(2, "dead", "resend", second, "--edit", "17").err())
                .contains("--edit takes FIELD:=VALUE");
        assertThat(home.requests("orders.pay")).as("requests after wrong usage").isEqualTo(3);
    }

    @Test
    void sendsPayloadsAndTensorsAgain() throws IOException {
        String small = home.failed(take(home.app, 10));
        String large = home.failed(take(home.app, LARGE));
        String raw = home.failed(raw("as it was"));
        Waits.until(
                "the tensor is archived",
                () -> home.run("journal", "show", large, "--json").out().contains("\"archive\""));
        home.isBroken = false;
        assertThat(home.ended(0, "dead", "resend", small, large, raw).out().lines())
                .hasSize(3);
        assertThat(home.runs.subList(3, 6)).isEqualTo(home.runs.subList(0, 3));
        assertThat(refused("dead", "resend", raw, "--again", "--edit", "a:=1"))
                .contains("expected a call by name for --edit, found USER_0X42_CALL");
    }

    @Test
    void readsIdsFromStandardInput() throws IOException {
        String first = home.failed(FailingHome.pay(1));
        String second = home.failed(FailingHome.pay(2));
        home.isBroken = false;
        InputStream before = System.in;
        System.setIn(new ByteArrayInputStream((first + "\n" + second + "\n").getBytes(StandardCharsets.UTF_8)));
        try {
            assertThat(home.ended(0, "dead", "resend", "-").out().lines()).hasSize(2);
        } finally {
            System.setIn(before);
        }
        assertThat(home.requests("orders.pay")).isEqualTo(4);
    }

    @Test
    void refusesWhatHasNotFailed() throws IOException {
        home.isBroken = false;
        String ok;
        try (Response response = home.app.call(FailingHome.pay(5))) {
            ok = MessageId.text(response.id());
        }
        assertThat(refused("dead", "resend", ok))
                .contains(ok + " is not sent again: expected a failed call, found that");
        assertThat(refused("dead", "show", ok)).contains("got its response");
        assertThat(refused("dead", "resend", "5.77")).contains("found no request on record");
        assertThat(home.ended(2, "dead", "resend", "x").err()).contains("--help");
        home.isHeld = true;
        CompletableFuture<Response> held = home.app.callAsync(FailingHome.pay(6));
        Waits.until("it is in the handler", () -> home.runs.size() == 2);
        String inFlight = home.ended(0, "journal", "list", "--outcome", "none", "--json")
                .ids()
                .get(0);
        assertThat(refused("dead", "resend", inFlight)).contains("has no outcome yet");
        assertThat(listed()).as("no call has failed").isEmpty();
        home.isHeld = false;
        held.join().close();
        assertThat(home.requests("orders.pay")).isEqualTo(2);
    }

    @Test
    void leavesNestedCallsToTheirHandlers() throws IOException {
        String outer = home.failed(Request.operation("ps0", "orders.outer"));
        assertThat(listed()).containsExactly(outer);
        List<String> both = listed("--nested");
        assertThat(both).hasSize(2).contains(outer);
        String nested =
                both.stream().filter(id -> !id.equals(outer)).findFirst().orElseThrow();
        assertThat(refused("dead", "resend", nested)).contains("the handler of " + outer + " made it", "--nested");
        home.isBroken = false;
        home.ended(0, "dead", "resend", nested, "--nested", "--edit", "amount:=1");
        assertThat(refused("dead", "resend", nested, "--nested")).contains("sent again, found ");
        assertThat(home.ended(1, "dead", "resend", outer).err())
                .as("its handler passes the context on, and repeats nothing by that")
                .contains("no amount below zero", "[HANDLER_FAILED]");
        assertThat(home.ended(0, "dead", "show", outer, "--json").json().get(0).get("resent"))
                .hasSize(1);
    }

    @Test
    void refusesWhenTheCalleeIsGone() throws IOException {
        Worker gone = home.join("gone");
        String id = home.failed(Request.operation("gone", "some.operation"));
        gone.close();
        assertThat(refused("dead", "resend", id))
                .contains("expected its callee, worker gone, to run, found it left", "waybill node --name gone");
        assertThat(listed()).as("still waits").containsExactly(id);
    }

    @Test
    void refusesTensorsThatWereNotArchived() throws IOException {
        try (Worker bare = home.joinWithoutArchive("bare")) {
            String id = FailingHome.failed(bare, take(bare, LARGE));
            home.isBroken = false;
            assertThat(refused("dead", "resend", id))
                    .contains("expected its tensors on record: tensor 0 of the request " + id, "not archived");
            assertThat(home.requests("stock.take")).isEqualTo(1);
        }
    }

    @Test
    void refusesWhatBelongsToItsCaller() throws IOException {
        ByteBuffer none = ByteBuffer.allocate(0);
        try (RRef created = home.app.rpc().remote("ps0", new Invocation("test::seven", List.of(), Map.of()))) {
            MessageType type = MessageType.userRequest(0x42);
            String id = home.failed(Request.raw("ps0", type, none, List.of(), List.of(created)));
            assertThat(refused("dead", "resend", id)).contains("found remote references, which belong to its caller");
        }
        String id = home.failed(Request.raw("ps0", MessageType.BACKWARD_AUTOGRAD_REQ, none, List.of()));
        assertThat(refused("dead", "resend", id))
                .contains("found BACKWARD_AUTOGRAD_REQ, which only its caller can send");
        assertThat(home.ended(0, "journal", "list", "--from", DepartedWorkers.RESENDING_WORKER)
                        .err())
                .as("what was sent")
                .contains("No call on record matches.");
    }
}
