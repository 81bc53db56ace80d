package io.waybill.api.context;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Named values, and which of them are current on a thread. */
@Timeout(60)
class CallContextTest {

    private static final CallContext A = CallContext.EMPTY.with("k", "a");
    private static final CallContext B = CallContext.EMPTY.with("k", "b");

    @AfterEach
    void end() {
        ThreadContext.own().leave(null);
    }

    private static String k() {
        return CallContext.current().text("k").orElse("none");
    }

    // ---- values

    @Test
    void hasWhatItWasGiven() {
        byte[] bytes = {1, 2, 3};
        CallContext context = A.with("bytes", bytes).with("text", "grün");
        bytes[0] = 9;
        assertThat(context.names()).containsExactly("bytes", "k", "text");
        assertThat(context.bytes("bytes")).contains(ByteBuffer.wrap(new byte[] {1, 2, 3}));
        assertThat(context.bytes("bytes").orElseThrow().isReadOnly()).isTrue();
        assertThat(context.text("text")).contains("grün");
        assertThat(context.text("missing")).isEmpty();
        assertThat(context.sizeInBytes()).isEqualTo(5 + 3 + 1 + 1 + 4 + "grün".getBytes(StandardCharsets.UTF_8).length);
    }

    @Test
    void isNeverChanged() {
        CallContext more = A.with("other", "1");
        assertThat(A.names()).containsExactly("k");
        assertThat(more.without("other")).isEqualTo(A);
        assertThat(more.without("missing")).isSameAs(more);
        assertThat(A.without("k")).isSameAs(CallContext.EMPTY);
        assertThat(A.with("k", "b")).isEqualTo(B).hasSameHashCodeAs(B).isNotEqualTo(A);
    }

    @Test
    void keepsValuesOutOfItsText() {
        assertThat(CallContext.EMPTY.with("token", "hunter2")).hasToString("CallContext[token]");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "a b",
                "a,b",
                "a=b",
                "a;b",
                "ä",
                "a\n",
                "(",
                "a/b",
                "\"",
                "{",
                "traceparent",
                "tracestate"
            })
    void refusesNamesThatAreNoTokens(String name) {
        assertThat(CallContext.isName(name)).isFalse();
        assertThatThrownBy(() -> A.with(name, "x"))
                .isInstanceOf(IllegalArgumentException.class)
                .isNotInstanceOf(ContextLimitException.class);
        assertThatThrownBy(() -> CallContext.of(Map.of(name, new byte[0])))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {"a", "Z9", "!#$%&'*+-.^_`|~", "org.acme.tenant", "TraceParent"})
    void takesTokens(String name) {
        assertThat(CallContext.isName(name)).isTrue();
        assertThat(A.with(name, "").text(name)).contains("");
    }

    @Test
    void namesLimitAndFoundValue() {
        CallContext full = CallContext.EMPTY;
        Map<String, byte[]> tooMany = new HashMap<>();
        for (int i = 0; i < CallContext.MAX_ENTRIES; i++) {
            full = full.with("k" + i, "");
            tooMany.put("k" + i, new byte[0]);
        }
        tooMany.put("one-more", new byte[0]);
        CallContext most = full;
        assertLimit("entries", 64, 65, () -> most.with("one-more", ""));
        assertLimit("entries", 64, 65, () -> CallContext.of(tooMany));
        assertThat(most.with("k1", "replaced").names()).hasSize(64);
        assertLimit("characters in a name", 128, 129, () -> A.with("n".repeat(129), ""));
        assertLimit("bytes of names and values", 8192, 8193, () -> CallContext.EMPTY.with("k", new byte[8192]));
        assertThat(CallContext.EMPTY.with("k", new byte[8191]).sizeInBytes()).isEqualTo(8192);
        assertLimit("bytes in a value", 8192, 1 << 20, () -> A.with("k", new byte[1 << 20]));
        assertLimit(
                "bytes of names and values",
                8192,
                8202,
                () -> CallContext.of(Map.of("a", new byte[4100], "b", new byte[4100])));
    }

    private static void assertLimit(String limit, long max, long found, Runnable beyond) {
        assertThatThrownBy(beyond::run)
                .isInstanceOfSatisfying(ContextLimitException.class, e -> {
                    assertThat(e.limit()).isEqualTo(limit);
                    assertThat(e.max()).isEqualTo(max);
                    assertThat(e.found()).isEqualTo(found);
                })
                .hasMessageContaining("at most " + max + " " + limit)
                .hasMessageContaining("would have " + found);
    }

    // ---- scopes

    @Test
    void isCurrentUntilItsScopeEnds() {
        assertThat(CallContext.current()).isSameAs(CallContext.EMPTY);
        ContextScope outer = A.makeCurrent();
        ContextScope inner = B.makeCurrent();
        assertThat(k()).isEqualTo("b");
        inner.close();
        assertThat(k()).isEqualTo("a");
        ContextScope none = CallContext.EMPTY.makeCurrent();
        assertThat(k()).isEqualTo("none");
        none.close();
        outer.close();
        assertThat(CallContext.current()).isSameAs(CallContext.EMPTY);
        assertThat(A.supply(CallContextTest::k)).isEqualTo("a");
        A.run(() -> assertThat(k()).isEqualTo("a"));
        assertThat(k()).isEqualTo("none");
    }

    @Test
    void endsScopesOnce() {
        ContextScope outer = A.makeCurrent();
        ContextScope inner = B.makeCurrent();
        inner.close();
        inner.close();
        assertThat(k()).as("after a second close").isEqualTo("a");
        outer.close();
        inner.close();
        outer.close();
        assertThat(k()).isEqualTo("none");
    }

    @Test
    void endsInnerScopesWithTheOuterOne() {
        ContextScope outer = A.makeCurrent();
        ContextScope inner = B.makeCurrent();
        ContextScope innermost = A.with("more", "1").makeCurrent();
        assertThatThrownBy(outer::close)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("2 that were opened later");
        assertThat(CallContext.current()).as("the thread's context").isSameAs(CallContext.EMPTY);
        innermost.close();
        inner.close();
        assertThat(CallContext.current()).isSameAs(CallContext.EMPTY);
    }

    @Test
    void refusesAnotherThread() throws Exception {
        ContextScope scope = A.makeCurrent();
        CompletableFuture<String> other = new CompletableFuture<>();
        Thread thread = new Thread(
                () -> {
                    try {
                        scope.close();
                        other.complete("closed");
                    } catch (IllegalStateException e) {
                        other.complete(e.getMessage() + ", and there is " + k());
                    }
                },
                "stranger");
        thread.start();
        thread.join();
        assertThat(other.join()).contains("not by stranger").endsWith("there is none");
        assertThat(k()).as("on its own thread").isEqualTo("a");
        scope.close();
        assertThat(k()).isEqualTo("none");
    }

    // ---- for the broker

    @Test
    void isRestoredWhateverForeignCodeLeftBehind() {
        ContextScope program = A.makeCurrent();
        ThreadContext thread = ThreadContext.own();
        for (CallContext of : List.of(B, CallContext.EMPTY)) {
            ContextScope before = thread.enter(of);
            assertThat(CallContext.current()).isEqualTo(of);
            program.close(); // not its own: there is no such scope in here
            assertThat(CallContext.current()).isEqualTo(of);
            ContextScope left = A.with("left", "open").makeCurrent();
            thread.leave(before);
            assertThat(k()).isEqualTo("a");
            left.close();
            assertThat(k()).as("after the scope was closed too late").isEqualTo("a");
        }
        ContextScope mark = thread.mark();
        B.makeCurrent();
        thread.leave(mark);
        assertThat(k()).isEqualTo("a");
        program.close();
        assertThat(k()).isEqualTo("none");
    }
}
