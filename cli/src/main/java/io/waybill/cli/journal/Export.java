package io.waybill.cli.journal;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.MessageId;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.NewDirectory;
import io.waybill.query.StoredCall;
import io.waybill.query.StoredMessages;
import io.waybill.query.stored.Payload;
import io.waybill.query.stored.StoredRecord;
import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * Writes calls and their tensors into a directory, one after the other. Memory is bounded by one call. For one thread.
 */
final class Export implements Closeable {

    private final StoredMessages journals;
    private final RecordJson records;
    private final TensorExport tensors;
    private final Writer lines;
    private final Path directory;
    private long calls;

    private Export(Path directory, StoredMessages journals) throws IOException {
        this.journals = journals;
        this.directory = directory;
        this.records = new RecordJson(journals);
        this.tensors = new TensorExport(directory.resolve("tensors"), journals.tensors());
        this.lines = Files.newBufferedWriter(directory.resolve("calls.jsonl"), StandardCharsets.UTF_8);
    }

    /** Creates the directory, for its owner alone, or uses an empty one. */
    static Export into(Path directory, StoredMessages journals) throws IOException, CommandFailedException {
        NewDirectory.make(directory);
        return new Export(directory, journals);
    }

    /**
     * Adds a call.
     *
     * @throws UncheckedIOException if it can't be written
     */
    void add(StoredCall call) {
        try (JsonGenerator json =
                new JsonFactory().createGenerator(lines).disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET)) {
            json.writeStartObject();
            json.writeStringField("id", MessageId.text(call.request().id()));
            CallJson.outcome(call, json);
            part("request", call.request(), json);
            if (call.response().isPresent()) {
                part("response", call.response().get(), json);
            }
            json.writeEndObject();
            json.writeRaw('\n');
            calls++;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void part(String name, StoredRecord record, JsonGenerator json) throws IOException {
        json.writeObjectFieldStart(name);
        records.fields(record, json);
        Optional<Payload> payload = journals.payload(record);
        if (payload.isPresent()) {
            Map<Integer, String> files = tensors.write(name, record, payload.get());
            records.payload(record, payload.get(), files, json);
        }
        json.writeEndObject();
    }

    /** Returns a summary of the written files in one line. */
    String summary() {
        return calls + " calls, " + tensors.summary() + " in " + directory;
    }

    @Override
    public void close() throws IOException {
        lines.close();
    }
}
