package io.waybill.osgi.script;

import io.waybill.api.Script;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;

/** A script as a service, with its verdict. Thread-safe; registered and withdrawn by the shelf. */
final class PublishedScript implements Script {

    /** Latest verdict of the bundle that runs scripts. */
    private sealed interface Verdict {
        record Accepted(List<String> schemas) implements Verdict {}

        record Refused(String problem) implements Verdict {}
    }

    final StagedScript staged;
    final long sinceWallNs;
    private final int ranking;
    private volatile Verdict verdict; // written by the bundle that runs it, read by any thread; null before
    private ServiceRegistration<Script> registration; // owned by the shelf

    PublishedScript(StagedScript staged, int ranking, long sinceWallNs) {
        this.staged = staged;
        this.ranking = ranking;
        this.sinceWallNs = sinceWallNs;
    }

    /** Registers the service. On return, the bundle that runs scripts has decided on it, if there is one. */
    void register(BundleContext context) {
        registration = context.registerService(Script.class, this, null);
    }

    /**
     * Withdraws the service. On return no new call can begin, and running calls have completed or exceeded the limit.
     */
    void withdraw() {
        try {
            registration.unregister();
        } catch (IllegalStateException e) {
            // the framework is stopping and has already removed it
        }
    }

    /** Returns whether a bundle currently uses the service. */
    boolean isUsed() {
        try {
            return registration.getReference().getUsingBundles() != null;
        } catch (IllegalStateException e) {
            return false; // it was unregistered meanwhile
        }
    }

    /** Returns whether its functions are served. */
    boolean isAccepted() {
        return verdict instanceof Verdict.Accepted;
    }

    List<String> schemas() {
        return verdict instanceof Verdict.Accepted accepted ? accepted.schemas() : List.of();
    }

    Optional<String> refusal() {
        return verdict instanceof Verdict.Refused refused ? Optional.of(refused.problem()) : Optional.empty();
    }

    @Override
    public String module() {
        return staged.name().module();
    }

    @Override
    public Form form() {
        return staged.form();
    }

    @Override
    public Path file() {
        return staged.copy();
    }

    @Override
    public String origin() {
        return staged.origin();
    }

    @Override
    public int ranking() {
        return ranking;
    }

    @Override
    public void accepted(List<String> schemas) {
        verdict = new Verdict.Accepted(List.copyOf(schemas));
    }

    @Override
    public void refused(String problem) {
        verdict = new Verdict.Refused(problem);
    }
}
