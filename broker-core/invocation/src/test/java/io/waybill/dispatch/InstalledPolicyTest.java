package io.waybill.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageType;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.ContextScope;
import io.waybill.api.policy.AccessPolicy;
import io.waybill.api.policy.AccessRequest;
import io.waybill.api.policy.Decision;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** What a thread that asks a policy has before, within and behind it. */
@Timeout(60)
class InstalledPolicyTest {

    private static final AccessRequest REQUEST =
            new AccessRequest(3, "caller", 0, MessageType.NAMED_CALL, "text.count", 7, false);
    private static final Provider GUARD = new Provider("org.acme.guard", "1.2.0");

    private final Thread thread = Thread.currentThread();
    private final ClassLoader before = thread.getContextClassLoader();
    private final ClassLoader ofPolicy = new ClassLoader() {};

    @AfterEach
    void restore() {
        Thread.interrupted();
        thread.setContextClassLoader(before);
    }

    static Stream<Arguments> outcomes() {
        return Stream.of(
                Arguments.of("allows", Decision.allow(), null),
                Arguments.of("denies", Decision.deny("no"), "denied it: no"),
                Arguments.of("decides nothing", null, "returned no decision"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("outcomes")
    @SuppressWarnings("try") // the scope is only closed
    void seesNothingOfTheThreadAndLeavesItAsItWas(String name, Decision decision, String refusal) {
        CallContext own = CallContext.EMPTY.with("tenant", "acme");
        AccessPolicy policy = request -> {
            assertThat(CallContext.current()).as("context within the policy").isEqualTo(CallContext.EMPTY);
            assertThat(thread.getContextClassLoader()).isSameAs(ofPolicy);
            assertThat(thread.isInterrupted())
                    .as("an interrupt of the one who asks")
                    .isFalse();
            CallContext.EMPTY.with("left", "open").makeCurrent();
            thread.setContextClassLoader(null);
            return decision;
        };
        ProviderErrors errors = new ProviderErrors();
        InstalledPolicy installed = new InstalledPolicy(GUARD, policy, ofPolicy, errors, new DaemonThreads());
        try (ContextScope scope = own.makeCurrent()) {
            thread.interrupt();

            assertThat(installed.refusal(REQUEST)).isEqualTo(refusal);

            assertThat(CallContext.current())
                    .as("context of the thread that asked")
                    .isEqualTo(own);
            assertThat(Thread.interrupted()).as("its interrupt").isTrue();
            assertThat(thread.getContextClassLoader()).isSameAs(before);
        }
        assertThat(errors.of("org.acme.guard")).isEqualTo(decision == null ? 1 : 0);
    }
}
