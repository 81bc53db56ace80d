package io.waybill.api.admin;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * The bundles of a node, at one moment. Immutable.
 *
 * @param refused jars in watched directories that were not taken
 * @param absentPolicies bundles whose access policies requests wait for; some may be missing from the list
 * @param running the operation on a bundle that runs now; others wait for it
 */
public record BundleList(
        List<BundleInfo> bundles,
        List<RefusedJar> refused,
        List<AbsentPolicy> absentPolicies,
        Optional<Operation> running) {

    public BundleList {
        bundles = List.copyOf(bundles);
        refused = List.copyOf(refused);
        absentPolicies = List.copyOf(absentPolicies);
    }

    /** A jar that was not taken, and why. */
    public record RefusedJar(String path, String problem) {}

    /** A bundle whose access policy is away. */
    public record AbsentPolicy(String name, String version) {}

    /**
     * An operation on a bundle.
     *
     * @param operation description, such as {@code install org.acme.word-count 1.0.0}
     * @param since time at which it began, after earlier operations had finished
     */
    public record Operation(String operation, Instant since) {}
}
