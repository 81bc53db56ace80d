package org.acme.versions;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.RecordCodec;
import io.waybill.api.admin.Admin;
import io.waybill.api.admin.BundleInfo;
import io.waybill.api.broker.Broker;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.tool.ToolCommand;
import io.waybill.api.tool.ToolDescription;
import io.waybill.api.tool.ToolFailedException;
import io.waybill.api.tool.ToolRun;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code waybill versions}: the handler bundles of every node of the home. */
@Component
public final class Versions implements ToolCommand {

    private static final String ROW = "%-16s %-40s %-12s %s";

    private final Broker broker;
    private final Admin admin;

    /** A bundle on a node. */
    public record Row(String node, String bundle, String version, BundleInfo.State state) {}

    @Activate
    public Versions(@Reference Broker broker) {
        this.broker = broker;
        this.admin = Admin.of(broker.caller()).withLimit(Duration.ofSeconds(5));
    }

    @Override
    public ToolDescription description() {
        return ToolDescription.of("versions", "Shows which version of each bundle each node runs.")
                .option("--bundle", "NAME", "Only this bundle; fails if nodes run different versions of it.");
    }

    @Override
    public void run(ToolRun run) throws ToolFailedException {
        List<Incarnation> workers = new ArrayList<>(broker.peers());
        workers.add(broker.self());
        List<Row> rows = new ArrayList<>();
        for (Incarnation each : workers) {
            rows.addAll(rows(each.worker().name(), run.option("--bundle").orElse("")));
        }
        if (!run.isJson()) {
            run.line(String.format(Locale.ROOT, ROW, "NODE", "BUNDLE", "VERSION", "STATE"));
        }
        for (Row row : rows) {
            if (run.isJson()) {
                run.json(RecordCodec.encode(row));
            } else {
                run.line(String.format(Locale.ROOT, ROW, row.node(), row.bundle(), row.version(), row.state()));
            }
        }
        long versions = rows.stream().map(Row::version).distinct().count();
        if (run.option("--bundle").isPresent() && versions > 1) {
            throw new ToolFailedException(versions + " versions of it run");
        }
    }

    private List<Row> rows(String node, String bundle) throws ToolFailedException {
        try {
            return admin.bundles(node).bundles().stream()
                    .filter(each -> each.kind() == BundleInfo.Kind.HANDLER)
                    .filter(each -> bundle.isEmpty() || each.name().equals(bundle))
                    .map(each -> new Row(node, each.name(), each.version(), each.state()))
                    .toList();
        } catch (CallException e) {
            if (e.code() == ErrorCode.UNKNOWN_OPERATION) {
                return List.of(); // a worker that is no node
            }
            throw new ToolFailedException(node + " did not say which bundles it runs: " + e.getMessage());
        }
    }
}
