package io.waybill.cli.workers;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.metrics.WorkerMetrics;
import io.waybill.cli.show.Table;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Counter or gauge of a bundle or program, as its worker published it last.
 *
 * @param kind {@code counter} or {@code gauge}
 */
record BundleFigure(String bundle, String kind, String name, long value) {

    /** Returns the figures of bundles, by the id of their worker. */
    static Map<Integer, List<BundleFigure>> byWorker(List<WorkerMetrics> workers) {
        return workers.stream().collect(Collectors.toMap(each -> each.worker().id(), BundleFigure::of));
    }

    /** Returns the figures of bundles among those of a worker, sorted by bundle. */
    private static List<BundleFigure> of(WorkerMetrics metrics) {
        List<BundleFigure> figures = new ArrayList<>();
        for (Map.Entry<String, Long> each : new TreeMap<>(metrics.values()).entrySet()) {
            add(each.getKey(), '/', "counter", each.getValue(), figures);
            add(each.getKey(), ':', "gauge", each.getValue(), figures);
        }
        return figures;
    }

    private static void add(String key, char separator, String kind, long value, List<BundleFigure> figures) {
        int at = key.indexOf(separator);
        if (at > 0) {
            figures.add(new BundleFigure(key.substring(0, at), kind, key.substring(at + 1), value));
        }
    }

    /** Prints a line for each figure of each worker. */
    static void print(List<WorkerMetrics> workers, PrintWriter out, PrintWriter err) {
        Table table = new Table("WORKER", "BUNDLE", "KIND", "NAME", "VALUE");
        boolean any = false;
        for (WorkerMetrics worker : workers) {
            for (BundleFigure each : of(worker)) {
                table.row(worker.worker().name(), each.bundle, each.kind, each.name, each.value);
                any = true;
            }
        }
        if (any) {
            table.print(out);
        } else {
            err.println("No live worker publishes a figure of a bundle.");
        }
    }

    static void writeJson(List<BundleFigure> figures, JsonGenerator json) throws IOException {
        json.writeArrayFieldStart("figures");
        for (BundleFigure each : figures) {
            json.writeStartObject();
            json.writeStringField("bundle", each.bundle);
            json.writeStringField("kind", each.kind);
            json.writeStringField("name", each.name);
            json.writeNumberField("value", each.value);
            json.writeEndObject();
        }
        json.writeEndArray();
    }
}
