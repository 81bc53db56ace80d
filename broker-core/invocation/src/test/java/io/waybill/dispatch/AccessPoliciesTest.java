package io.waybill.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.policy.AccessPolicy;
import io.waybill.api.policy.AccessRequest;
import io.waybill.api.policy.Decision;
import io.waybill.host.Host;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Policies of bundles that were removed before they had created them. */
class AccessPoliciesTest {

    private static final Provider OLD = new Provider("guard", "1.0.0");
    private static final Provider NEW = new Provider("guard", "2.0.0");
    private static final AccessPolicy ALLOW = request -> Decision.allow();

    private final AccessPolicies policies =
            new AccessPolicies(new ProviderErrors(), Host.real().threads());

    private AccessPolicies.Registration add(Provider provider, long asOf) {
        return policies.add(provider, "component", ALLOW, getClass().getClassLoader(), asOf);
    }

    @Test
    void aPolicyThatComesAfterItsBundleWasRemovedIsNotRequired() {
        long asOf = policies.forgotten("guard");
        policies.require(OLD);
        policies.forget("guard");
        AccessPolicies.Registration late = add(OLD, asOf);
        assertThat(policies.current()).as("policies with the late one").isNull();
        late.withdraw();
        assertThat(policies.current()).as("policies after its withdrawal").isNull();
    }

    @Test
    void aPolicyThatComesLateLeavesThatOfTheNextVersion() {
        long asOf = policies.forgotten("guard");
        policies.forget("guard");
        add(NEW, policies.forgotten("guard"));
        add(OLD, asOf).withdraw();
        assertThat(policies.current().isComplete())
                .as("whether requests are served")
                .isTrue();
        assertThat(policies.current().policies())
                .extracting(InstalledPolicy::provider)
                .containsExactly(NEW);
    }

    @Test
    void aPolicySaysWhatItDecidesAboutWithTheClassLoaderOfItsBundle() {
        ClassLoader ofBundle = new ClassLoader() {};
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        AtomicReference<ClassLoader> seen = new AtomicReference<>();
        AccessPolicy policy = new AccessPolicy() {
            @Override
            public Decision decide(AccessRequest request) {
                return Decision.allow();
            }

            @Override
            public boolean decidesControlCalls() {
                seen.set(Thread.currentThread().getContextClassLoader());
                return true;
            }
        };
        policies.add(NEW, "component", policy, ofBundle);
        assertThat(seen.get()).as("class loader in the policy").isSameAs(ofBundle);
        assertThat(Thread.currentThread().getContextClassLoader())
                .as("class loader afterwards")
                .isSameAs(before);
    }

    @Test
    void theRemovalOfAnotherBundleDoesNotKeepAPolicyOut() {
        long asOf = policies.forgotten("guard");
        policies.forget("other");
        add(OLD, asOf);
        assertThat(policies.current().policies())
                .extracting(InstalledPolicy::provider)
                .containsExactly(OLD);
    }
}
