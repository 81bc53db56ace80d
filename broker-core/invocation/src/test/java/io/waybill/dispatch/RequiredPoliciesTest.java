package io.waybill.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** When a policy is required, away or lifted, whatever it decides about. */
class RequiredPoliciesTest {

    private static final Provider GUARD = new Provider("guard", "1.0.0");
    private static final Provider OTHER = new Provider("other", "1.0.0");

    private final List<List<Given>> published = new ArrayList<>();
    private final RequiredPolicies<Given> policies = new RequiredPolicies<>(published::add);

    /** A policy with the equals of a bundle, which throws. */
    private record Given(Provider provider, boolean isAway) implements RequiredPolicies.Policy<Given> {

        @Override
        public Given away() {
            return new Given(provider, true);
        }

        @Override
        public boolean equals(Object other) {
            throw new IllegalStateException("equals of a bundle");
        }

        @Override
        public int hashCode() {
            throw new IllegalStateException("hashCode of a bundle");
        }

        @Override
        public String toString() {
            return provider.name() + (isAway ? " away" : "");
        }
    }

    private Given add(Provider provider, String name) {
        Given added = new Given(provider, false);
        policies.add(name, added, policies.forgotten(provider.name()));
        return added;
    }

    private void isRequired(String... expected) {
        assertThat(policies.all())
                .as("required policies")
                .extracting(Given::toString)
                .containsExactly(expected);
        assertThat(published.get(published.size() - 1))
                .as("policies as they were published")
                .extracting(Given::toString)
                .containsExactly(expected);
    }

    @Test
    void aWithdrawnPolicyIsRequiredUntilItsBundleIsUninstalled() {
        policies.withdraw("a", add(GUARD, "a"));
        isRequired("guard away");
        policies.forget("guard");
        isRequired();
    }

    @Test
    void aPolicyThatWasReplacedIsNotWithdrawn() {
        Given first = add(GUARD, "a");
        add(GUARD, "a");
        policies.withdraw("a", first);
        isRequired("guard");
    }

    @Test
    void aPolicyThatWasRemovedIsNotRequired() {
        add(GUARD, "a");
        add(GUARD, "b");
        policies.remove("guard", "a");
        isRequired("guard");
    }

    @Test
    void aProviderWithPoliciesIsNotRequiredAgain() {
        add(GUARD, "");
        policies.require(new Given(GUARD, true));
        isRequired("guard");
    }

    @Test
    void completionLiftsOnlyPoliciesThatAreAway() {
        policies.require(new Given(GUARD, true));
        policies.require(new Given(OTHER, true));
        policies.completed("other");
        isRequired("guard away", "other away");
        add(OTHER, "a");
        policies.completed("other");
        isRequired("guard away", "other");
    }

    @Test
    void aPolicyOfAnUninstalledBundleIsNotAdded() {
        long asOf = policies.forgotten("guard");
        policies.forget("guard");
        policies.add("a", new Given(GUARD, false), asOf);
        isRequired();
    }
}
