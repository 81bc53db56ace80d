package io.waybill.worker.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.waybill.api.MessageType;
import io.waybill.api.policy.AccessPolicy;
import io.waybill.api.policy.AccessRequest;
import io.waybill.api.policy.Decision;
import io.waybill.dispatch.AccessPolicies;
import io.waybill.dispatch.Provider;
import io.waybill.handling.Route;
import io.waybill.worker.poll.Revoker;
import io.waybill.worker.serve.AccessGate.Verdict;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which requests the access gate lets through, refuses and lets wait, with real policies. */
@Timeout(60)
class AccessGateTest {

    private static final Provider GUARD = new Provider("guard", "1.0.0");
    private static final Provider OTHER = new Provider("other", "2.0.0");
    private static final int REFERENCES_DELETE = MessageType.RREF_USER_DELETE.code();

    private final List<String> asked = new ArrayList<>(); // names of policies, in order
    private ServingRoom room;
    private AccessPolicies policies;

    @BeforeEach
    void open(@TempDir Path directory) throws Exception {
        room = new ServingRoom(directory);
        policies = room.registry.policies();
    }

    @AfterEach
    void close() throws IOException {
        room.close();
    }

    private AccessPolicies.Registration add(Provider provider, AccessPolicy policy) {
        return policies.add(provider, request -> {
            asked.add(provider.name());
            return policy.decide(request);
        });
    }

    private Verdict ask(PeerRequest request) {
        return room.gate.ask(request, false);
    }

    /** The request has one response, the error of a refusal with this text, and is in flight no more. */
    private void hasBeenRefused(String id, String text) throws IOException {
        assertThat(room.responded()).as("responses on record").containsExactly(id + " ACCESS_DENIED");
        assertThat(room.errors())
                .as("text of the refusal")
                .singleElement()
                .asString()
                .contains(text);
        assertThat(room.open.count()).as("requests in flight").isZero();
        assertThat(room.pool.held()).as("exchanges in use").isZero();
    }

    private void isLeftAlone() throws IOException {
        assertThat(room.responded()).as("responses on record").isEmpty();
        assertThat(room.open.count()).as("requests in flight").isEqualTo(1);
    }

    @Test
    void aRequestIsAllowedWhenThereIsNoPolicy() throws Exception {
        assertThat(room.gate.isOpen()).as("whether the gate is open").isTrue();
        assertThat(ask(room.read())).isEqualTo(Verdict.ALLOWED);
        isLeftAlone();
    }

    @Test
    void aRequestIsAllowedWhenAllPoliciesAllowIt() throws Exception {
        add(GUARD, request -> Decision.allow());
        add(OTHER, request -> Decision.allow());
        assertThat(ask(room.read())).isEqualTo(Verdict.ALLOWED);
        assertThat(asked).as("policies that were asked").containsExactly("guard", "other");
        isLeftAlone();
    }

    @Test
    void aPolicyIsAskedAboutWhoCallsWhat() throws Exception {
        List<AccessRequest> about = new ArrayList<>();
        add(GUARD, request -> {
            about.add(request);
            return Decision.allow();
        });
        PeerRequest request = room.read();
        ask(request);
        int worker = room.publishing.directory.id();
        assertThat(about)
                .as("what the policy was asked about")
                .containsExactly(new AccessRequest(
                        worker,
                        "a",
                        room.uid,
                        ServingRoom.TYPE,
                        ServingRoom.TYPE.name(),
                        request.view().id(),
                        true));
    }

    @Test
    void aRequestIsRefusedByTheFirstPolicyThatDeniesIt() throws Exception {
        add(GUARD, request -> Decision.deny("not you"));
        add(OTHER, request -> Decision.allow());
        PeerRequest request = room.read();
        String id = ServingRoom.id(request);
        assertThat(ask(request)).isEqualTo(Verdict.REFUSED);
        assertThat(asked).as("policies that were asked").containsExactly("guard");
        hasBeenRefused(id, "the access policy of guard 1.0.0 denied it: not you");
    }

    @Test
    void aRequestIsRefusedByTheLastPolicyToo() throws Exception {
        add(GUARD, request -> Decision.allow());
        add(OTHER, request -> Decision.deny("not you"));
        PeerRequest request = room.read();
        String id = ServingRoom.id(request);
        assertThat(ask(request)).isEqualTo(Verdict.REFUSED);
        hasBeenRefused(id, "the access policy of other 2.0.0 denied it: not you");
    }

    @ParameterizedTest(name = "with an error: {0}")
    @ValueSource(booleans = {false, true})
    void anExceptionOfAPolicyRefusesTheRequestAlone(boolean isError) throws Exception {
        AccessPolicies.Registration failing = add(GUARD, request -> {
            if (isError) {
                throw new StackOverflowError("planted");
            }
            throw new IllegalStateException("planted");
        });
        PeerRequest request = room.read();
        String id = ServingRoom.id(request);
        assertThat(ask(request)).isEqualTo(Verdict.REFUSED);
        hasBeenRefused(id, "planted");
        failing.remove();
        assertThat(ask(room.read())).as("a request after the policy was lifted").isEqualTo(Verdict.ALLOWED);
    }

    @Test
    void aPolicyThatReturnsNothingRefuses() throws Exception {
        add(GUARD, request -> null);
        PeerRequest request = room.read();
        String id = ServingRoom.id(request);
        assertThat(ask(request)).isEqualTo(Verdict.REFUSED);
        hasBeenRefused(id, "returned no decision");
    }

    @Test
    void aRequestWaitsWhileAPolicyIsAwayAndNoOtherIsAsked() throws Exception {
        AccessPolicies.Registration away = add(GUARD, request -> Decision.allow());
        add(OTHER, request -> Decision.allow());
        away.withdraw();
        assertThat(room.gate.isOpen()).as("while it is away").isFalse();
        PeerRequest request = room.read();
        assertThat(ask(request)).isEqualTo(Verdict.WAITS);
        assertThat(asked).as("policies that were asked while one is away").isEmpty();
        isLeftAlone();
        add(GUARD, each -> Decision.allow());
        assertThat(room.gate.isOpen()).as("after it returned").isTrue();
        assertThat(ask(request)).isEqualTo(Verdict.ALLOWED);
    }

    @Test
    void aRequestWaitsWhilePoliciesAreExpected() throws Exception {
        policies.expectMore(true);
        assertThat(room.gate.isOpen()).as("while more policies are expected").isFalse();
        PeerRequest request = room.read();
        assertThat(ask(request)).isEqualTo(Verdict.WAITS);
        policies.expectMore(false);
        assertThat(room.gate.isOpen()).as("when no more are expected").isTrue();
        assertThat(ask(request)).isEqualTo(Verdict.ALLOWED);
    }

    @ParameterizedTest(name = "with a policy: {0}")
    @ValueSource(booleans = {false, true})
    void aRequestWaitsBehindOthersThatWait(boolean hasPolicy) throws Exception {
        if (hasPolicy) {
            add(GUARD, request -> Decision.deny("not you"));
        }
        assertThat(room.gate.ask(room.read(), true))
                .as("verdict about a request behind others")
                .isEqualTo(Verdict.WAITS);
        assertThat(asked).as("policies that were asked out of order").isEmpty();
        isLeftAlone();
    }

    @ParameterizedTest(name = "type code {0}")
    @CsvSource({
        "0x1f0, false", // a control call, which may remove the policy
        "0x10b, false", // the counts of references
        "0x10c, false",
        "0x10d, false",
        "0x107, true", // the fetch of a value
        "0x100, true",
        "0x140, true",
        "0x1ef, true", // the last type of programs
    })
    void policiesAreAskedAboutAllThatIsNotTheBrokersOwn(String code, boolean isAsked) throws Exception {
        add(GUARD, request -> Decision.deny("not you"));
        PeerRequest request = room.read(MessageType.of(Integer.decode(code)));
        assertThat(ask(request))
                .as("verdict about a request of the type %s", code)
                .isEqualTo(isAsked ? Verdict.REFUSED : Verdict.ALLOWED);
        assertThat(asked).as("policies that were asked").hasSize(isAsked ? 1 : 0);
    }

    /** Policy that decides about control calls, too. */
    private record OfControl(List<String> asked, String name, Decision decision) implements AccessPolicy {
        @Override
        public Decision decide(AccessRequest request) {
            asked.add(name + " " + request.operation());
            return decision;
        }

        @Override
        public boolean decidesControlCalls() {
            return true;
        }
    }

    private PeerRequest controlCall() throws Exception {
        return room.read(MessageType.CONTROL_CALL);
    }

    @Test
    void aPolicyThatSaysSoDecidesAboutControlCalls() throws Exception {
        add(OTHER, request -> Decision.deny("not you"));
        policies.add(GUARD, new OfControl(asked, "guard", Decision.deny("no operator")));
        PeerRequest request = controlCall();
        String id = ServingRoom.id(request);
        assertThat(ask(request)).as("verdict about a control call").isEqualTo(Verdict.REFUSED);
        hasBeenRefused(id, "the access policy of guard 1.0.0 denied it: no operator");
        assertThat(asked).as("policies that were asked").containsExactly("guard CONTROL_CALL");
    }

    @Test
    void aControlCallDoesNotWaitForAPolicyThatIsAwayAndIsDecidedByTheOthers() throws Exception {
        policies.add(GUARD, new OfControl(asked, "guard", Decision.deny("no operator")))
                .withdraw();
        policies.add(OTHER, new OfControl(asked, "other", Decision.allow()));
        assertThat(room.gate.ask(controlCall(), true))
                .as("verdict about a control call")
                .isEqualTo(Verdict.ALLOWED);
        assertThat(asked).as("policies that were asked").containsExactly("other CONTROL_CALL");
    }

    @Test
    void aPolicyThatFailsToSayWhetherItDecidesAboutControlCallsIsAsked() throws Exception {
        policies.add(GUARD, new AccessPolicy() {
            @Override
            public Decision decide(AccessRequest request) {
                return Decision.deny("no operator");
            }

            @Override
            public boolean decidesControlCalls() {
                throw new NoClassDefFoundError("planted");
            }
        });
        assertThat(ask(controlCall())).as("verdict about a control call").isEqualTo(Verdict.REFUSED);
        assertThat(room.registry.errors().of("guard"))
                .as("failures of the policy")
                .isEqualTo(1);
    }

    @Test
    void theBrokersOwnRequestsDoNotWaitBehindOthersOrForAPolicy() throws Exception {
        policies.require(GUARD);
        for (int code : new int[] {Route.CONTROL_CALL, REFERENCES_DELETE}) {
            PeerRequest request = room.read(MessageType.of(code));
            assertThat(room.gate.ask(request, true)).as("type code %x", code).isEqualTo(Verdict.ALLOWED);
        }
    }

    /** The next holder of the permit refuses the request, once; the thread that comes back touches nothing. */
    @Test
    void aRequestIsRefusedByTheNextHolderWhenAPolicyDoesNotReturn() throws Exception {
        PeerRequest request = room.read();
        String id = ServingRoom.id(request);
        add(GUARD, about -> {
            assertThat(Revoker.revoke(room.permit))
                    .as("whether the permit can be taken from inside a policy")
                    .isTrue();
            room.gate.takeOver();
            return Decision.allow();
        });
        add(OTHER, about -> Decision.allow());
        assertThat(ask(request)).as("verdict of the thread that came back").isEqualTo(Verdict.PERMIT_LOST);
        assertThatCode(room.gate::takeOver).as("taking over once more").doesNotThrowAnyException();
        hasBeenRefused(id, "did not decide within " + AccessPolicy.MAX_MILLIS + " ms");
        assertThat(asked)
                .as("policies that were asked, also by a thread without the permit")
                .containsExactly("guard");
        assertThat(room.registry.errors().of("guard"))
                .as("failures of the policy")
                .isEqualTo(1);
    }

    @Test
    void otherRequestsAreRefusedAtOnceUntilTheLatePolicyReturns() throws Exception {
        List<Verdict> meanwhile = new ArrayList<>();
        PeerRequest first = room.read();
        PeerRequest second = room.read();
        AccessPolicies.Registration late = add(GUARD, about -> {
            if (meanwhile.isEmpty()) {
                Revoker.revoke(room.permit);
                assertThat(room.permit.tryAcquire()).isTrue();
                room.gate.takeOver();
                meanwhile.add(ask(second));
            }
            return Decision.allow();
        });
        assertThat(ask(first)).isEqualTo(Verdict.PERMIT_LOST);
        assertThat(meanwhile).as("verdict about another request").containsExactly(Verdict.REFUSED);
        assertThat(room.errors())
                .as("refusals")
                .hasSize(2)
                .last()
                .asString()
                .contains("the access policy of guard 1.0.0 has not returned from an earlier decision");
        assertThat(ask(room.read())).as("after the policy returned").isEqualTo(Verdict.ALLOWED);
        late.remove();
    }

    @Test
    void nothingIsTakenOverFromAPolicyThatReturned() throws Exception {
        room.gate.takeOver();
        add(GUARD, request -> Decision.allow());
        assertThat(ask(room.read())).isEqualTo(Verdict.ALLOWED);
        room.gate.takeOver();
        isLeftAlone();
        assertThat(room.registry.errors().of("guard"))
                .as("failures of the policy")
                .isZero();
    }

    @Test
    void aRequestThatCanNotWaitIsRefusedWithTheNameOfThePolicyThatIsAway() throws Exception {
        policies.require(GUARD);
        PeerRequest request = room.read();
        String id = ServingRoom.id(request);
        room.gate.refuseUndecided(request, "it rains");
        hasBeenRefused(id, "the access policy of guard 1.0.0 is away, and it rains");
    }

    @Test
    void aRequestThatCanNotWaitIsRefusedEvenIfThePolicyWasLiftedMeanwhile() throws Exception {
        PeerRequest request = room.read();
        String id = ServingRoom.id(request);
        room.gate.refuseUndecided(request, "it rains");
        hasBeenRefused(id, "the access policy of a bundle is away, and it rains");
    }
}
