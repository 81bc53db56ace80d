package io.waybill.cli.journal;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.MessageId;
import io.waybill.cli.show.Printable;
import io.waybill.cli.show.ShownTime;
import io.waybill.query.CallTree;
import io.waybill.query.StoredCall;
import io.waybill.query.StoredMessages;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;

/** Prints a message with the requests that led to it and those that it led to, one per line. */
final class TreeLines {

    private static final String STEP = "  ";

    private final StoredMessages journals;

    TreeLines(StoredMessages journals) {
        this.journals = journals;
    }

    void print(List<StoredCall> ancestors, StoredCall message, List<CallTree> children, PrintWriter out) {
        String indent = STEP;
        for (StoredCall ancestor : ancestors) {
            out.println(indent + line(ancestor));
            indent += STEP;
        }
        out.println(indent + line(message) + "  <- this message");
        print(children, indent + STEP, out);
    }

    private void print(List<CallTree> trees, String indent, PrintWriter out) {
        for (CallTree tree : trees) {
            out.println(indent + line(tree.call()));
            print(tree.children(), indent + STEP, out);
        }
    }

    private String line(StoredCall call) {
        String operation = call.operation()
                .map(Printable::oneLine)
                .orElse(call.request().type().name());
        return MessageId.text(call.request().id()) + " "
                + journals.nameOf(call.request().from()) + " -> "
                + journals.nameOf(call.request().to()) + " " + operation + "  " + call.outcomeText()
                + call.tookNs().map(took -> "  " + ShownTime.took(took)).orElse("");
    }

    /** Writes the fields of an open object. */
    void write(List<StoredCall> ancestors, List<CallTree> children, JsonGenerator json) throws IOException {
        json.writeArrayFieldStart("ancestors");
        for (StoredCall ancestor : ancestors) {
            json.writeStartObject();
            fields(ancestor, json);
            json.writeEndObject();
        }
        json.writeEndArray();
        write(children, json);
    }

    private void write(List<CallTree> trees, JsonGenerator json) throws IOException {
        json.writeArrayFieldStart("children");
        for (CallTree tree : trees) {
            json.writeStartObject();
            fields(tree.call(), json);
            write(tree.children(), json);
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private void fields(StoredCall call, JsonGenerator json) throws IOException {
        json.writeStringField("id", MessageId.text(call.request().id()));
        json.writeStringField("type", call.request().type().name());
        json.writeStringField("from_name", journals.nameOf(call.request().from()));
        json.writeStringField("to_name", journals.nameOf(call.request().to()));
        if (call.operation().isPresent()) {
            json.writeStringField("operation", call.operation().get());
        }
        json.writeStringField("sent", ShownTime.utc(call.request().sentNs()));
        CallJson.outcome(call, json);
    }
}
