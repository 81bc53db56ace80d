package io.waybill.osgi;

import io.waybill.api.admin.BundleInfo.Kind;
import io.waybill.api.admin.BundleInfo.State;
import java.util.List;
import java.util.Optional;
import org.osgi.framework.Bundle;

/**
 * Status of a bundle, for operators.
 *
 * @param sinceWallNs when it entered this state
 * @param sha256 of the running jar, in hexadecimal
 * @param source the file it was last installed from
 * @param problem the last problem, if any
 * @param share requests that a canary gets
 * @param stopped other bundles that wait since the operation that returned this, which took what they need
 * @param replaced version of the bundle that the operation replaced by another jar
 */
public record BundleStatus(
        String symbolicName,
        String version,
        Kind kind,
        State state,
        long sinceWallNs,
        String sha256,
        String source,
        Optional<String> problem,
        Optional<String> share,
        List<String> stopped,
        Optional<String> replaced) {

    public BundleStatus {
        stopped = List.copyOf(stopped);
    }

    /** Returns the status of a system bundle. */
    static BundleStatus ofSystem(Bundle bundle) {
        return new BundleStatus(
                bundle.getSymbolicName(),
                bundle.getVersion().toString(),
                Kind.SYSTEM,
                bundle.getState() == Bundle.ACTIVE ? State.ACTIVE : State.STOPPED,
                bundle.getLastModified() * 1_000_000,
                "",
                bundle.getLocation(),
                Optional.empty(),
                Optional.empty(),
                List.of(),
                Optional.empty());
    }

    /**
     * Returns the status with the further effects of an operation on the bundle.
     *
     * @param before of all bundles, before the operation
     * @param now of all bundles
     */
    BundleStatus after(List<BundleStatus> before, List<BundleStatus> now) {
        List<String> waiting = now.stream()
                .filter(each -> each.state == State.WAITING)
                .map(BundleStatus::symbolicName)
                .toList();
        List<String> others = before.stream()
                .filter(each -> each.state == State.ACTIVE && !each.symbolicName.equals(symbolicName))
                .map(BundleStatus::symbolicName)
                .filter(waiting::contains)
                .toList();
        Optional<String> former = before.stream()
                .filter(each -> each.symbolicName.equals(symbolicName) && !each.sha256.equals(sha256))
                .filter(each -> share.isEmpty())
                .map(BundleStatus::version)
                .findFirst();
        return new BundleStatus(
                symbolicName, version, kind, state, sinceWallNs, sha256, source, problem, share, others, former);
    }
}
