package io.waybill.replay;

import io.waybill.api.MessageType;
import io.waybill.api.Value;
import io.waybill.api.WorkerInfo;
import io.waybill.api.journal.CallRecord;
import io.waybill.home.Home;
import io.waybill.host.Host;
import io.waybill.query.HomeJournals;
import io.waybill.query.MessageFilter;
import io.waybill.query.StoredCall;
import io.waybill.query.stored.Payload;
import io.waybill.query.stored.StoredRecord;
import io.waybill.replay.recording.CallRecording;
import io.waybill.replay.slice.SliceInfo;
import io.waybill.replay.slice.SliceRecording;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The bundles and versions that a recorded worker had, for a replay that lacks a handler: from a slice's list, or from
 * the recorded bundle operations of a home.
 */
final class BundleHistory {

    private static final int MAX_SHOWN = 10;

    private BundleHistory() {}

    /** Returns a sentence with the bundles; empty if none is recorded. */
    static Optional<String> of(WorkerInfo worker, CallRecording recording, Optional<Path> home, Host host)
            throws IOException {
        List<String> bundles = new ArrayList<>();
        if (recording instanceof SliceRecording slice) {
            slice.info().workers().stream()
                    .filter(member -> member.worker().id() == worker.id())
                    .flatMap(member -> member.bundles().stream())
                    .forEach(bundle -> bundles.add(text(bundle)));
        } else if (home.isPresent()) {
            read(worker, home.get(), host, bundles);
        }
        if (bundles.isEmpty()) {
            return Optional.empty();
        }
        int from = Math.max(0, bundles.size() - MAX_SHOWN);
        return Optional.of("on record, " + worker.name() + " had "
                + String.join(", ", bundles.subList(from, bundles.size())) + ": give the jar with --bundle");
    }

    private static String text(SliceInfo.Bundle bundle) {
        return bundle.symbolicName() + " " + bundle.version();
    }

    private static void read(WorkerInfo worker, Path home, Host host, List<String> bundles) throws IOException {
        try (HomeJournals journals = HomeJournals.open(Home.openDamaged(home, host))) {
            MessageFilter filter = new MessageFilter.Builder()
                    .type(MessageType.CONTROL_CALL)
                    .operation("control:bundle.*")
                    .outcome(CallRecord.Outcome.OK)
                    .peer(worker.id())
                    .build();
            journals.list(filter, 0, call -> {
                try {
                    changed(call, journals).ifPresent(bundles::add);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    /** Returns the change and time of an operation; empty if it only listed bundles. */
    private static Optional<String> changed(StoredCall call, HomeJournals journals) throws IOException {
        StoredRecord response = call.response().orElseThrow();
        Optional<Value> result = journals.payload(response).flatMap(Payload::result);
        if (result.isEmpty()
                || !(result.get() instanceof Value.Dict fields)
                || !(fields.entries().get(Value.of("bundle")) instanceof Value.Dict bundle)) {
            return Optional.empty();
        }
        Instant at = Instant.EPOCH.plusNanos(response.sentNs()).truncatedTo(ChronoUnit.SECONDS);
        boolean isEnd = call.operation().orElse("").matches(".*\\.(uninstall|stop)");
        return Optional.of(text(bundle, "name") + " " + text(bundle, "version") + (isEnd ? " until " : " since ") + at);
    }

    private static String text(Value.Dict fields, String name) {
        return fields.entries().get(Value.of(name)) instanceof Value.Text text ? text.value() : "?";
    }
}
