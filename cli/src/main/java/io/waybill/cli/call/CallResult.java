package io.waybill.cli.call;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Response;
import io.waybill.api.Value;
import io.waybill.api.tensor.Tensor;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.npy.Npy;
import io.waybill.cli.show.Json;
import io.waybill.cli.show.Printable;
import io.waybill.cli.show.ValueJson;
import io.waybill.cli.show.ValueText;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;

/** Response of a call, shown to the user. For one use, while the response is open. */
public final class CallResult {

    private static final int SHOWN_BYTES = 256;
    private static final String TRACEBACK = "Traceback (most recent call last):";

    private final Response response;
    private final long tookNs;
    private final Optional<Value> value;

    private CallResult(Response response, long tookNs, Optional<Value> value) {
        this.response = response;
        this.tookNs = tookNs;
        this.value = value;
    }

    /**
     * Reads a response.
     *
     * @param to the worker that was called
     * @throws CommandFailedException if it is the error of a Python function, which arrives as an ordinary response
     */
    public static CallResult of(Response response, long tookNs, String to) throws CommandFailedException {
        Optional<Value> value = valueOf(response);
        if (response.type() == MessageType.PYTHON_RET
                && value.isPresent()
                && value.get() instanceof Value.Dict fields) {
            if (fields.entries().get(Value.of("error")) instanceof Value.Text error) {
                throw raised(error.value().strip(), to, MessageId.text(response.id()));
            }
            Value result = fields.entries().get(Value.of("result"));
            return new CallResult(response, tookNs, Optional.ofNullable(result).or(() -> value));
        }
        return new CallResult(response, tookNs, value);
    }

    /**
     * Creates the failure for an error of a Python function: a line with the worker that raised it, then the
     * exception's class and text, then a traceback.
     */
    private static CommandFailedException raised(String error, String to, String id) {
        int traceback = error.indexOf(TRACEBACK);
        String head = traceback < 0 ? error : error.substring(0, traceback).strip();
        String text = head.startsWith("On ") && head.contains(":\n") ? head.substring(head.indexOf(":\n") + 2) : head;
        return new CommandFailedException(
                "Error on " + to + ": " + text + "; its record: waybill journal show " + id + " ["
                        + ErrorCode.HANDLER_FAILED.name() + "]",
                traceback < 0 ? "" : error.substring(traceback));
    }

    /** Returns the response as a value; empty if it is not one, since types of users may contain any bytes. */
    private static Optional<Value> valueOf(Response response) {
        try {
            return Optional.of(response.value());
        } catch (CallException e) {
            return Optional.empty();
        }
    }

    /** Writes the tensors to files if requested, and the rest to standard output. */
    void show(PrintWriter out, List<Path> files, boolean json) throws IOException, CommandFailedException {
        if (!files.isEmpty()) {
            write(files);
        }
        if (json) {
            Json.print(out, content -> writeJson(content, files));
        } else if (files.isEmpty()) {
            out.println(text());
        } else {
            for (int i = 0; i < files.size(); i++) {
                out.println(files.get(i)
                        + (value.isPresent() ? ": " + kind(response.tensors().get(i)) : ""));
            }
        }
        out.flush();
    }

    private static String kind(Tensor tensor) {
        return tensor.dtype().torchName() + java.util.Arrays.toString(tensor.sizes());
    }

    private void write(List<Path> files) throws IOException, CommandFailedException {
        if (value.isEmpty()) {
            writePayload(files);
            return;
        }
        List<Tensor> tensors = response.tensors();
        if (tensors.size() != files.size()) {
            throw new CommandFailedException(
                    "the result has " + tensors.size() + " tensors, and --out was given " + files.size() + " times"
                            + (tensors.isEmpty() ? "; the result is " + ValueText.of(value.get()) : ""));
        }
        for (int i = 0; i < files.size(); i++) {
            Npy.write(files.get(i), tensors.get(i));
        }
    }

    private void writePayload(List<Path> files) throws IOException, CommandFailedException {
        if (files.size() > 1) {
            throw new CommandFailedException(
                    "the result is one payload, and --out was given " + files.size() + " times");
        }
        byte[] bytes = new byte[response.payload().remaining()];
        response.payload().get(bytes);
        Files.write(files.get(0), bytes);
    }

    private String text() {
        if (value.isPresent()) {
            return ValueText.of(value.get());
        }
        Optional<String> text = payloadText();
        if (text.isPresent()) {
            return Printable.of(text.get());
        }
        ByteBuffer payload = response.payload();
        byte[] shown = new byte[Math.min(SHOWN_BYTES, payload.remaining())];
        payload.duplicate().get(shown);
        return HexFormat.ofDelimiter(" ").formatHex(shown)
                + (payload.remaining() > shown.length ? " … " + payload.remaining() + " bytes" : "");
    }

    private Optional<String> payloadText() {
        try {
            CharBuffer text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(response.payload().duplicate());
            return Optional.of(text.toString());
        } catch (CharacterCodingException e) {
            return Optional.empty();
        }
    }

    private void writeJson(JsonGenerator json, List<Path> files) throws IOException {
        json.writeStartObject();
        json.writeStringField("id", MessageId.text(response.id()));
        json.writeStringField("type", response.type().name());
        json.writeNumberField("from", response.from());
        json.writeNumberField("took_ns", tookNs);
        if (!files.isEmpty()) {
            json.writeArrayFieldStart("files");
            for (Path file : files) {
                json.writeString(file.toString());
            }
            json.writeEndArray();
        }
        if (value.isPresent()) {
            if (files.isEmpty()) {
                json.writeFieldName("result");
                ValueJson.write(value.get(), json);
            }
        } else {
            writeJsonPayload(json);
        }
        json.writeEndObject();
    }

    private void writeJsonPayload(JsonGenerator json) throws IOException {
        Optional<String> text = payloadText();
        if (text.isPresent()) {
            json.writeStringField("payload", text.get());
        } else {
            byte[] bytes = new byte[response.payload().remaining()];
            response.payload().duplicate().get(bytes);
            json.writeBinaryField("payload_base64", bytes);
        }
    }
}
