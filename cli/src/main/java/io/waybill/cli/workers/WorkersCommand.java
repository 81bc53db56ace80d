package io.waybill.cli.workers;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.cli.command.CommandGroup;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.node.Node;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.ShownTime;
import io.waybill.cli.show.Table;
import io.waybill.dispatch.HandlerKey;
import io.waybill.home.Home;
import io.waybill.home.Membership;
import io.waybill.home.Peer;
import io.waybill.home.PeerState;
import io.waybill.home.WorkerRecord;
import io.waybill.host.Host;
import io.waybill.host.Liveness;
import io.waybill.worker.metrics.PublishedMetrics;
import java.io.IOException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code waybill workers}: lists the workers of a home. */
@Command(
        mixinStandardHelpOptions = true,
        name = "workers",
        header = "Lists who is in the home.",
        description = {
            "",
            "STATE is alive, starting, left, dead (its process is gone), unseen (in another pid namespace) or unreadable."
                    + " LAG counts the requests of others that a live worker has not read yet, as of the last second.",
            ""
        },
        footer = {
            "",
            "Examples:",
            "  waybill workers",
            "  waybill workers --json",
            "  waybill workers --figures",
            "  waybill workers forget trainer-7",
            "  waybill workers remove --all-departed"
        })
public final class WorkersCommand implements Callable<Integer>, CommandGroup {

    private final Surroundings surroundings;

    @Mixin
    private HomeOption home;

    @Option(names = "--all", description = "Also those that left or died.")
    private boolean all;

    @Option(names = "--figures", description = "Instead of them, the counters and gauges of bundles in live workers.")
    private boolean figures;

    @Option(names = "--json", description = "Prints JSON; always with those that left or died.")
    private boolean json;

    public WorkersCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    Surroundings surroundings() {
        return surroundings;
    }

    @Override
    public Map<String, Class<?>> subcommands() {
        Map<String, Class<?>> all = new LinkedHashMap<>();
        all.put("forget", ForgetCommand.class);
        all.put("remove", RemoveCommand.class);
        return all;
    }

    @Override
    public Integer call() throws IOException {
        Host host = Host.real();
        Home opened = home.openExisting(surroundings, host);
        Membership membership = all || json ? new Membership(opened) : Membership.present(opened);
        membership.refresh();
        List<Peer> peers = membership.members().all();
        PublishedMetrics metrics = new PublishedMetrics(() -> peers, host.files());
        if (figures && !json) {
            BundleFigure.print(metrics.read(), surroundings.out(), surroundings.err());
            return 0;
        }
        ArchiveLag archives = new ArchiveLag(peers, host.files());
        if (json) {
            Json.print(surroundings.out(), content -> writeJson(opened, peers, metrics, archives, content));
        } else {
            if (!opened.identity().isLocal()) {
                surroundings.err().println("Home of " + opened.identity());
            }
            print(peers, membership.everJoined(), metrics.lags(), archives);
        }
        return 0;
    }

    private void print(List<Peer> peers, long everJoined, Map<Integer, Long> lags, ArchiveLag archives) {
        Table table = new Table("ID", "NAME", "PID", "STATE", "SINCE", "GEN", "LAG", "SERVES");
        int shown = 0;
        for (Peer peer : peers) {
            boolean isPast = peer.state() == PeerState.LEFT || peer.state() == PeerState.DEAD;
            if (!isPast || all) {
                Optional<WorkerRecord> record = peer.record();
                table.row(
                        peer.id(),
                        peer.name(),
                        record.map(r -> Long.toString(r.process().pid())).orElse("-"),
                        state(peer),
                        record.map(r -> ShownTime.seconds(TimeUnit.SECONDS.toNanos(since(r).getEpochSecond())))
                                .orElse("-"),
                        peer.epoch(),
                        peer.state().isThere() ? lags.getOrDefault(peer.id(), 0L) : "-",
                        record.map(r -> served(r) + archives.remark(peer.id())).orElse(peer.problem()));
                shown++;
            }
        }
        if (shown > 0) {
            table.print(surroundings.out());
        }
        long hidden = Math.max(everJoined, peers.size()) - shown;
        if (hidden > 0) {
            surroundings
                    .err()
                    .println((shown == 0 ? "No worker is there; " : "") + hidden + " left or died: --all shows them");
        } else if (shown == 0) {
            surroundings.err().println("No worker is there; start a node: waybill node --name NAME");
        }
    }

    /**
     * Formats the served operations; omits control calls, which every node serves, and functions, which may be many.
     */
    private static String served(WorkerRecord record) {
        long functions = record.serves().stream()
                .filter(key -> key.startsWith(HandlerKey.FUNCTION_PREFIX))
                .count();
        String others = record.serves().stream()
                .filter(key -> !key.startsWith(HandlerKey.CONTROL_PREFIX))
                .filter(key -> !key.startsWith(HandlerKey.FUNCTION_PREFIX))
                .collect(Collectors.joining(" "));
        String serves = functions == 0 ? others : others + " functions:" + functions;
        return (serves
                        + remark(record, Node.STUCK)
                        + remark(record, Node.NOT_STARTED, "not started")
                        + remark(record, WorkerRecord.INJECTS)
                        + remark(record, WorkerRecord.LOST)
                        + remark(record, WorkerRecord.RETENTION)
                        + remark("carrier", record.reachability().carrier())
                        + remark("groups", String.join(" ", record.groups().names())))
                .stripLeading();
    }

    /** Formats remarks about unusual states. */
    private static String remark(WorkerRecord record, String setting) {
        return remark(record, setting, setting);
    }

    private static String remark(WorkerRecord record, String setting, String title) {
        return remark(title, record.settings().getOrDefault(setting, ""));
    }

    private static String remark(String title, String text) {
        return text.isEmpty() ? "" : " (" + title + ": " + text + ")";
    }

    private static Instant since(WorkerRecord record) {
        return Instant.ofEpochMilli(record.joinedAtMs()).truncatedTo(ChronoUnit.MILLIS);
    }

    private static String state(Peer peer) {
        if (peer.state() == PeerState.READY) {
            return peer.liveness() == Liveness.UNKNOWN ? "unseen" : "alive";
        }
        return peer.state().name().toLowerCase(Locale.ROOT);
    }

    private static void writeJson(
            Home home, List<Peer> peers, PublishedMetrics metrics, ArchiveLag archives, JsonGenerator json)
            throws IOException {
        Map<Integer, Long> lags = metrics.lags();
        Map<Integer, List<BundleFigure>> figures = BundleFigure.byWorker(metrics.read());
        json.writeStartObject();
        json.writeStringField("home", home.path().toString());
        json.writeStringField("host", home.identity().host());
        json.writeStringField("worker_ids", home.identity().ids());
        json.writeArrayFieldStart("workers");
        for (Peer peer : peers) {
            json.writeStartObject();
            json.writeNumberField("id", peer.id());
            json.writeStringField("name", peer.name());
            json.writeStringField("state", state(peer));
            json.writeNumberField("generation", peer.epoch());
            if (peer.state().isThere()) {
                json.writeNumberField("lag", lags.getOrDefault(peer.id(), 0L));
                BundleFigure.writeJson(figures.getOrDefault(peer.id(), List.of()), json);
            }
            archives.writeJson(peer.id(), json);
            if (peer.record().isPresent()) {
                writeRecord(peer.record().get(), json);
            } else {
                json.writeStringField("problem", peer.problem());
            }
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private static void writeList(String field, List<String> texts, JsonGenerator json) throws IOException {
        json.writeArrayFieldStart(field);
        for (String text : texts) {
            json.writeString(text);
        }
        json.writeEndArray();
    }

    private static void writeRecord(WorkerRecord record, JsonGenerator json) throws IOException {
        json.writeNumberField("pid", record.process().pid());
        json.writeStringField("since", ShownTime.utc(TimeUnit.MILLISECONDS.toNanos(record.joinedAtMs())));
        json.writeStringField("version", record.version());
        json.writeStringField("java", record.javaVersion());
        writeList("serves", record.serves(), json);
        writeList("at_least_once", record.atLeastOnce(), json);
        json.writeStringField("reachability", record.reachability().isLocal() ? "local" : "remote");
        if (!record.reachability().isLocal()) {
            json.writeStringField("carrier", record.reachability().carrier());
        }
        writeList("groups", record.groups().names(), json);
        json.writeObjectFieldStart("settings");
        for (Map.Entry<String, String> setting : record.settings().entrySet()) {
            json.writeStringField(setting.getKey(), setting.getValue());
        }
        json.writeEndObject();
    }
}
