package io.waybill.testing;

import io.waybill.api.MessageId;
import io.waybill.api.WorkerInfo;
import io.waybill.dispatch.HandlerSpec;
import io.waybill.host.Host;
import io.waybill.replay.NodeDistribution;
import io.waybill.replay.Replay;
import io.waybill.replay.ReplayReport;
import io.waybill.replay.compare.ReplayedCall;
import io.waybill.replay.compare.ResponseComparison;
import io.waybill.replay.compare.Verdict;
import io.waybill.replay.recording.CallRecording;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** Replays recorded calls with the tested bundle of a broker. For one thread. */
final class BundleReplay {

    private static final int SHOWN = 5;

    private final Host host;
    private final TestedNode node;
    private final Map<String, TestedMember> members;

    /** @param members all workers of the broker by name, with the node */
    BundleReplay(Host host, TestedNode node, Map<String, TestedMember> members) {
        this.host = host;
        this.node = node;
        this.members = members;
    }

    /**
     * Replays calls to the bundle; those to handlers of the test, and to other workers with bundles, are omitted.
     *
     * @throws AssertionError if there are none, or a response differs
     */
    ReplayReport run(Path recording, BundleJar bundle, ResponseComparison comparison) throws IOException {
        List<String> problems = new ArrayList<>();
        Replay replay = Replay.of(recording)
                .on(host)
                .in(NodeDistribution.of(node.systemBundles()))
                .with(bundle.path())
                .leaveOut((registry, worker) -> added(worker.name()).forEach(registry::add))
                .compare(comparison);
        replayed(recording).forEach(replay::worker);
        ReplayReport report = replay.run(call -> difference(call).ifPresent(text -> {
            if (problems.size() < SHOWN) {
                problems.add(text);
            }
        }));
        if (report.calls() == 0) {
            throw new AssertionError("nothing was replayed: there are no calls on record in " + recording);
        } else if (!report.isAllSame()) {
            throw new AssertionError(bundle + " does not respond as on record in " + recording + ":\n  "
                    + String.join("\n  ", problems));
        }
        return report;
    }

    private List<String> replayed(Path recording) throws IOException {
        try (CallRecording opened = Replay.open(recording, host)) {
            return opened.workers().stream()
                    .map(WorkerInfo::name)
                    .filter(name -> !hasOtherHandlers(members.get(name)))
                    .toList();
        }
    }

    private boolean hasOtherHandlers(TestedMember member) {
        return member instanceof TestedProcess || member instanceof TestedNode && member != node;
    }

    /** Returns the handlers that the test added to a worker. */
    private List<HandlerSpec> added(String name) {
        TestedMember member = members.get(name);
        return member == null ? List.of() : member.here().added();
    }

    /** Describes the difference in one line; empty when the response equals the recorded one. */
    private static Optional<String> difference(ReplayedCall call) {
        return call.results().stream()
                .filter(result -> result.verdict() != Verdict.SAME)
                .findFirst()
                .map(result -> "call " + MessageId.text(call.call().id()) + " of " + call.operation() + ", "
                        + result.verdict().name().toLowerCase(Locale.ROOT).replace('_', ' ') + ": " + result.reason());
    }
}
