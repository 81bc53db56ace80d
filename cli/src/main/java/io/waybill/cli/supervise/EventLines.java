package io.waybill.cli.supervise;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.Printable;
import io.waybill.cli.show.ShownTime;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Locale;

/** Prints events of nodes, one per line, and forwards their logs. Thread-safe. */
public final class EventLines {

    /** Format of events. */
    public enum Form {
        TEXT,
        JSON
    }

    private final PrintWriter out;
    private final PrintWriter err;
    private final Form form;

    /**
     * @param out for events
     * @param err for the nodes' logs
     */
    public EventLines(PrintWriter out, PrintWriter err, Form form) {
        this.out = out;
        this.err = err;
        this.form = form;
    }

    /** Forwards a line of a node's log, with the node's name. */
    synchronized void log(String node, String line) {
        err.println(node + " | " + Printable.of(line));
        err.flush();
    }

    synchronized void accept(NodeEvent event) {
        if (form == Form.JSON) {
            Json.printLine(out, json -> write(event, json));
        } else {
            print(event);
        }
        out.flush();
    }

    private void print(NodeEvent event) {
        if (event instanceof NodeEvent.Started started) {
            out.println("started " + started.node() + " pid=" + started.pid());
        } else if (event instanceof NodeEvent.Ready ready) {
            out.println("ready " + ready.node() + " id=" + ready.id());
        } else if (event instanceof NodeEvent.Died died) {
            print("died", died.node(), died.death(), "restarting in " + shown(died.pause()));
        } else if (event instanceof NodeEvent.GivenUp given) {
            print("gave up", given.node(), given.death(), "not started again");
        } else if (event instanceof NodeEvent.Stopped stopped) {
            out.println("stopped " + stopped.node() + ": exit code " + stopped.exitCode());
        } else if (event instanceof NodeEvent.Killed killed) {
            out.println("killed " + killed.node() + ": did not end within " + shown(killed.limit()));
        }
    }

    private void print(String what, String node, NodeEnd death, String next) {
        out.println(what + " " + node + ": " + Printable.oneLine(death.reason()) + ", after " + shown(death.ran())
                + "; " + next);
        if (!death.report().isEmpty()) {
            out.println("  report " + Printable.oneLine(death.report()));
        }
        for (String line : death.lastLines()) {
            out.println("  | " + Printable.of(line));
        }
    }

    private static String shown(Duration time) {
        return time.compareTo(Duration.ofSeconds(1)) < 0
                ? time.toMillis() + " ms"
                : String.format(Locale.ROOT, "%.1f s", time.toMillis() / 1e3);
    }

    private static void write(NodeEvent event, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("at", ShownTime.utc(ChronoUnit.NANOS.between(Instant.EPOCH, Instant.now())));
        json.writeStringField("event", name(event));
        json.writeStringField("node", event.node());
        if (event instanceof NodeEvent.Started started) {
            json.writeNumberField("pid", started.pid());
        } else if (event instanceof NodeEvent.Ready ready) {
            json.writeNumberField("pid", ready.pid());
            json.writeNumberField("id", ready.id());
        } else if (event instanceof NodeEvent.Died died) {
            json.writeNumberField("pid", died.pid());
            write(died.death(), json);
            json.writeNumberField("restart_in_ms", died.pause().toMillis());
        } else if (event instanceof NodeEvent.GivenUp given) {
            json.writeNumberField("pid", given.pid());
            write(given.death(), json);
        } else if (event instanceof NodeEvent.Stopped stopped) {
            json.writeNumberField("pid", stopped.pid());
            json.writeNumberField("exit_code", stopped.exitCode());
        } else if (event instanceof NodeEvent.Killed killed) {
            json.writeNumberField("pid", killed.pid());
        }
        json.writeEndObject();
    }

    private static void write(NodeEnd death, JsonGenerator json) throws IOException {
        json.writeNumberField("exit_code", death.exitCode());
        json.writeStringField("reason", death.reason());
        if (!death.report().isEmpty()) {
            json.writeStringField("report", death.report());
        }
        json.writeNumberField("ran_ms", death.ran().toMillis());
        json.writeArrayFieldStart("last_lines");
        for (String line : death.lastLines()) {
            json.writeString(line);
        }
        json.writeEndArray();
    }

    private static String name(NodeEvent event) {
        return event.getClass()
                .getSimpleName()
                .replaceAll("([a-z])([A-Z])", "$1_$2")
                .toLowerCase(Locale.ROOT);
    }
}
