package io.waybill.intercept;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.dispatch.HandlerKey;
import io.waybill.dispatch.Provider;
import io.waybill.dispatch.ProviderErrors;
import io.waybill.host.Host;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class InterceptorTableTest {

    private final Interceptors<CharSequence> interceptors = new Interceptors<>(
            OptionalMethods.of(CharSequence.class, name -> true),
            Host.real().clock(),
            Host.real().threads(),
            new ProviderErrors());

    private Interceptors.Registration add(String name, int ranking, String... keys) {
        return interceptors.add(new InterceptorSpec<>(
                Arrays.stream(keys).map(HandlerKey::parse).toList(),
                List.of(),
                name,
                new Provider(name, "1.0.0"),
                ranking,
                name,
                AwayPolicy.PARK));
    }

    @Test
    void callsThoseOfEqualRankingInTheOrderOfTheirNamesAlsoAfterUpdates() {
        Map<String, Interceptors.Registration> stays = new HashMap<>();
        for (String name : List.of("middle", "first", "last")) {
            stays.put(name, add(name, 0, "*"));
        }
        add("ranked", 1, "*");
        for (String updated : List.of("first", "middle", "last", "first")) {
            interceptors.replacing(updated);
            stays.get(updated).withdraw(Duration.ZERO);
            stays.put(updated, add(updated, 0, "*"));
            interceptors.replaced(updated);
            assertThat(find(Request.operation("b", "text.count")))
                    .as("the order after an update of %s", updated)
                    .isEqualTo("ranked first last middle");
        }
    }

    @Test
    void callsThoseOfAProgramInTheOrderInWhichTheyWereAdded() {
        for (String name : List.of("b", "c", "a")) {
            interceptors.add(
                    new InterceptorSpec<>(List.of(HandlerKey.parse("*")), name, new Provider(name, "1.0.0"), 0));
        }
        assertThat(find(Request.operation("b", "text.count"))).isEqualTo("b c a");
    }

    @ParameterizedTest
    @CsvSource({"text.count, true", "function:text.f, true", "0x142, true", "other.x, false", "0x143, false"})
    void knowsOfWhichKeysOneIsAwayWhileItIsReplaced(String key, boolean isAway) {
        add("there", 0, "*", "type:*");
        Interceptors.Registration stay = add("away", 0, "text.*", "function:text.f", "0x142");
        assertThat(interceptors.isAway(HandlerKey.parse(key))).isFalse();
        interceptors.replacing("away");
        stay.withdraw(Duration.ZERO);
        assertThat(interceptors.isAway(HandlerKey.parse(key))).isEqualTo(isAway);
        interceptors.replaced("away");
        assertThat(interceptors.isAway(HandlerKey.parse(key))).isFalse();
    }

    /** The interceptors of a request, by both ways of asking, joined. */
    private String find(Request request) {
        InterceptorTable<CharSequence> table = interceptors.table();
        String found = names(table.find(request.type(), request.payloadArray(), request.payloadLength()));
        byte[] record = new byte[7 + request.payloadLength()];
        System.arraycopy(request.payloadArray(), 0, record, 7, request.payloadLength());
        assertThat(names(table.find(request.type().code(), new UnsafeBuffer(record), 7, request.payloadLength())))
                .isEqualTo(found);
        return found;
    }

    private static String names(InterceptorChain<CharSequence> chain) {
        List<CharSequence> names = new ArrayList<>();
        for (int i = 0; chain != null && i < chain.size(); i++) {
            names.add(chain.get(i).interceptor());
        }
        return String.join(" ", names);
    }

    private static Request raw(MessageType type) {
        return Request.raw("b", type, ByteBuffer.allocate(1), List.of());
    }

    private static Request function(MessageType type, String name) {
        return Request.invocation("b", type, new Invocation(name, List.of(), Map.of()));
    }

    @ParameterizedTest
    @CsvSource({
        "py.deep.one, exact deep py any",
        "py.deep.two, deep py any",
        "py.deep, py any",
        "py.x, py any",
        "text.count, any",
    })
    void findsEveryInterceptorOfAnOperation(String operation, String expected) {
        add("any", 0, "*");
        add("py", 1, "py.*");
        add("deep", 2, "py.deep.*");
        add("exact", 3, "py.deep.one");
        add("types", 4, "type:*");
        assertThat(find(Request.operation("b", operation))).isEqualTo(expected);
    }

    @Test
    void findsEveryInterceptorOfAType() {
        add("types", 0, "type:*");
        add("one", 1, "0x142", "SCRIPT_CALL");
        add("function", 2, "function:math.scale");
        add("operations", 3, "*");
        assertThat(find(raw(MessageType.userRequest(0x42)))).isEqualTo("one types");
        assertThat(find(raw(MessageType.userRequest(0x43)))).isEqualTo("types");
        assertThat(find(function(MessageType.SCRIPT_CALL, "math.scale"))).isEqualTo("function one types");
        assertThat(find(function(MessageType.SCRIPT_CALL, "math.other"))).isEqualTo("one types");
        assertThat(find(function(MessageType.SCRIPT_REMOTE_CALL, "math.scale"))).isEqualTo("function types");
        assertThat(find(raw(MessageType.SCRIPT_RREF_FETCH_CALL))).isEqualTo("types");
    }

    @Test
    void leavesTheMessagesOfTheBrokerAlone() {
        add("all", 0, "type:*", "*", "RREF_FORK_REQUEST");
        for (MessageType type :
                List.of(MessageType.RREF_USER_DELETE, MessageType.RREF_FORK_REQUEST, MessageType.RREF_CHILD_ACCEPT)) {
            assertThat(find(raw(type))).as(type.name()).isEmpty();
        }
        assertThat(find(raw(MessageType.CONTROL_CALL))).isEmpty();
        assertThatIllegalArgumentException().isThrownBy(() -> add("control", 0, "control:bundle.list"));
    }

    @Test
    void leavesOutWhatAnInterceptorIgnores() {
        interceptors.add(new InterceptorSpec<>(
                List.of(HandlerKey.parse("*"), HandlerKey.parse("type:*")),
                List.of(HandlerKey.parse("BACKWARD_AUTOGRAD_REQ"), HandlerKey.parse("SCRIPT_CALL")),
                "most",
                new Provider("most", "1.0.0"),
                0));
        assertThat(find(raw(MessageType.BACKWARD_AUTOGRAD_REQ))).isEmpty();
        assertThat(find(raw(MessageType.FORWARD_AUTOGRAD_REQ))).isEqualTo("most");
        add("one", 0, "function:math.scale", "BACKWARD_AUTOGRAD_REQ");
        assertThat(find(raw(MessageType.BACKWARD_AUTOGRAD_REQ))).isEqualTo("one");
        assertThat(find(function(MessageType.SCRIPT_CALL, "math.scale"))).isEqualTo("one");
        assertThat(find(function(MessageType.SCRIPT_CALL, "math.other"))).isEmpty();
        assertThat(find(function(MessageType.SCRIPT_REMOTE_CALL, "math.scale"))).isEqualTo("most one");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new InterceptorSpec<>(
                        List.of(HandlerKey.parse("*")),
                        List.of(HandlerKey.parse("text.*")),
                        "",
                        new Provider("bad", "1.0.0"),
                        0))
                .withMessageContaining("text.*");
    }

    @Test
    void findsNothingInAPayloadThatIsCutShort() {
        add("all", 0, "*", "function:math.scale");
        for (int length = 0; length < 3; length++) {
            ByteBuffer payload = ByteBuffer.wrap(new byte[] {100, 0, 1}, 0, length);
            assertThat(find(Request.raw("b", MessageType.NAMED_CALL, payload, List.of())))
                    .isEmpty();
            assertThat(find(Request.raw("b", MessageType.SCRIPT_CALL, payload, List.of())))
                    .isEmpty();
        }
    }

    @Test
    void keepsTheOrderOfEqualRankings() {
        add("first", 0, "text.*");
        add("second", 0, "text.*");
        add("above", 1, "text.count");
        assertThat(find(Request.operation("b", "text.count"))).isEqualTo("above first second");
    }

    @Test
    void beginsNothingInAChainWhoseInterceptorLeft() {
        add("stays", 1, "text.*");
        Interceptors.Registration leaving = add("leaves", 0, "text.*");
        Request request = Request.operation("b", "text.count");
        InterceptorChain<CharSequence> chain =
                interceptors.table().find(request.type(), request.payloadArray(), request.payloadLength());
        assertThat(chain.begin()).isTrue();
        assertThat(leaving.withdraw(Duration.ofMillis(10)).stillRunning()).isEqualTo(1);
        assertThat(chain.begin()).isFalse();
        assertThat(chain.get(0).inFlight())
                .as("in flight at the one that stays")
                .isEqualTo(1);
        chain.end();
        assertThat(chain.get(0).inFlight()).isZero();
        assertThat(chain.get(1).interceptor()).as("the one that was given up").isNull();
        assertThat(find(request)).isEqualTo("stays");
    }
}
