package io.waybill.osgi;

import java.util.Collection;
import org.osgi.framework.hooks.resolver.ResolverHook;
import org.osgi.framework.hooks.resolver.ResolverHookFactory;
import org.osgi.framework.wiring.BundleCapability;
import org.osgi.framework.wiring.BundleRequirement;
import org.osgi.framework.wiring.BundleRevision;

/**
 * Resolver hook for versions of a bundle: each resolves as if the others were removed, and no other bundle can use the
 * exports of a candidate, which is only resolved and never started. A candidate is identified by its location.
 *
 * <p><b>Threads.</b> Any; stateless.
 */
final class CandidateHook implements ResolverHookFactory, ResolverHook {

    private static final String CANDIDATE = "waybill-candidate:";

    /** Returns a location for a candidate. */
    static String location(String symbolicName, long number) {
        return CANDIDATE + symbolicName + "#" + number;
    }

    @Override
    public ResolverHook begin(Collection<BundleRevision> triggers) {
        return this;
    }

    @Override
    public void filterResolvable(Collection<BundleRevision> candidates) {
        // all are allowed
    }

    @Override
    public void filterSingletonCollisions(
            BundleCapability singleton, Collection<BundleCapability> collisionCandidates) {
        boolean candidate = isCandidate(singleton.getRevision());
        collisionCandidates.removeIf(other -> candidate != isCandidate(other.getRevision()));
    }

    @Override
    public void filterMatches(BundleRequirement requirement, Collection<BundleCapability> candidates) {
        BundleRevision asking = requirement.getRevision();
        candidates.removeIf(offered -> isOtherVersion(offered.getRevision(), asking)
                || isCandidate(offered.getRevision()) && !offered.getRevision().equals(asking));
    }

    private static boolean isOtherVersion(BundleRevision offered, BundleRevision asking) {
        return !offered.getBundle().equals(asking.getBundle())
                && asking.getSymbolicName() != null
                && asking.getSymbolicName().equals(offered.getSymbolicName());
    }

    @Override
    public void end() {
        // there is no state to release
    }

    private static boolean isCandidate(BundleRevision revision) {
        return revision.getBundle().getLocation().startsWith(CANDIDATE);
    }
}
