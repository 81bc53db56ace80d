package io.waybill.cli.show;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;

/** Writes JSON documents: one per command, or one per line. Stateless. */
public final class Json {

    /** Content to write. */
    @FunctionalInterface
    public interface Content {
        void writeTo(JsonGenerator json) throws IOException;
    }

    private Json() {}

    /** Prints a document and a line end. */
    public static void print(PrintWriter out, Content content) {
        StringWriter text = new StringWriter();
        try (JsonGenerator json = new JsonFactory().createGenerator(text)) {
            json.setPrettyPrinter(new DefaultPrettyPrinter());
            content.writeTo(json);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        out.println(text);
    }

    /** Prints a document on one line. */
    public static void printLine(PrintWriter out, Content content) {
        StringWriter text = new StringWriter();
        try (JsonGenerator json = new JsonFactory().createGenerator(text)) {
            content.writeTo(json);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        out.println(text);
        out.flush();
    }
}
