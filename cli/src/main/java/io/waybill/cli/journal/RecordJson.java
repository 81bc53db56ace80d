package io.waybill.cli.journal;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.Invocation;
import io.waybill.api.MessageId;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import io.waybill.cli.show.ShownTime;
import io.waybill.cli.show.ValueJson;
import io.waybill.journal.RecordPosition;
import io.waybill.query.StoredMessages;
import io.waybill.query.stored.Payload;
import io.waybill.query.stored.StoredRecord;
import io.waybill.query.stored.StoredStorage;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Writes records as JSON. Times are in UTC, ids in their usual text form. */
public final class RecordJson {

    private final StoredMessages journals;

    public RecordJson(StoredMessages journals) {
        this.journals = journals;
    }

    /** Writes the fields of an open object. */
    public void fields(StoredRecord record, JsonGenerator json) throws IOException {
        json.writeStringField("id", MessageId.text(record.id()));
        json.writeStringField("type", record.type().name());
        json.writeNumberField("from", record.from());
        json.writeStringField("from_name", journals.nameOf(record.from()));
        json.writeNumberField("to", record.to());
        json.writeStringField("to_name", journals.nameOf(record.to()));
        json.writeStringField("sent", ShownTime.utc(record.sentNs()));
        if (record.begunNs() != 0) {
            json.writeStringField("begun", ShownTime.utc(record.begunNs()));
        }
        json.writeNumberField("payload_bytes", record.payloadBytes());
        json.writeNumberField("tensors", record.tensorCount());
        if (record.parent() != MessageId.NONE) {
            json.writeStringField("parent", MessageId.text(record.parent()));
        }
        if (record.isRepeated()) {
            json.writeBooleanField("repeated", true);
        }
        if (record.isError()) {
            json.writeStringField("error_kind", record.errorKind().name());
            json.writeStringField("error_code", record.errorCode().name());
            if (record.rootCode().isPresent()) {
                json.writeStringField("root_code", record.rootCode().get().name());
                CallJson.root(record.rootId(), json);
            }
        }
        json.writeStringField(
                "journal", record.worker().id() + "-" + record.worker().name());
        json.writeStringField("queue", record.queue().directoryName());
        json.writeStringField("file", record.fileName());
        if (record.position().isPresent()) {
            RecordPosition position = record.position().get();
            json.writeNumberField("offset", position.offset());
            json.writeStringField("index", "0x" + Long.toHexString(position.index()));
        }
        json.writeNumberField("sequence", record.sequence());
    }

    /**
     * Writes the fields of a record's content.
     *
     * @param files files of the tensors, by their numbers
     */
    void payload(StoredRecord record, Payload payload, Map<Integer, String> files, JsonGenerator json)
            throws IOException {
        if (payload.call().isPresent()) {
            json.writeStringField("operation", payload.call().get().name());
            if (payload.call().get().mode() == Invocation.Mode.ASYNC) {
                json.writeBooleanField("async", true);
            }
            json.writeFieldName("arguments");
            ValueJson.write(described(new Value.Items(payload.call().get().positional())), json);
            json.writeObjectFieldStart("named");
            for (Map.Entry<String, Value> named : payload.call().get().named().entrySet()) {
                json.writeFieldName(named.getKey());
                ValueJson.write(described(named.getValue()), json);
            }
            json.writeEndObject();
        } else if (payload.result().isPresent()) {
            json.writeFieldName("value");
            ValueJson.write(described(payload.result().get()), json);
        } else if (payload.text().isPresent()) {
            json.writeStringField("text", payload.text().get());
        } else {
            json.writeBinaryField("first_bytes", payload.start());
        }
        if (!payload.tensors().isEmpty()) {
            json.writeArrayFieldStart("tensor_kinds");
            for (int i = 0; i < payload.tensors().size(); i++) {
                tensor(record, payload.tensors().get(i), files.get(i), json);
            }
            json.writeEndArray();
        }
        ShownObservations.write(payload.observations(), json);
        ShownContext.write(payload, json);
        if (!payload.problem().isEmpty()) {
            json.writeStringField("problem", payload.problem());
        }
    }

    private void tensor(StoredRecord record, Tensor tensor, String file, JsonGenerator json) throws IOException {
        StoredStorage storage = journals.tensors().storageOf(record, tensor);
        json.writeStartObject();
        json.writeStringField("dtype", tensor.dtype().torchName());
        json.writeFieldName("shape");
        json.writeArray(tensor.sizes(), 0, tensor.dimensions());
        json.writeStringField("device", tensor.device().toString());
        if (!tensor.isContiguous()) {
            json.writeFieldName("strides");
            json.writeArray(tensor.strides(), 0, tensor.dimensions());
        }
        json.writeNumberField("storage", storage.number());
        json.writeNumberField("storage_bytes", storage.sizeBytes());
        json.writeStringField("kept", storage.location().name().toLowerCase(Locale.ROOT));
        if (storage.isKept()) {
            json.writeStringField("crc32c", storage.digest());
        } else {
            json.writeStringField("why", storage.text());
        }
        if (file != null) {
            json.writeStringField("file", file);
        }
        json.writeEndObject();
    }

    /** Returns the value with kind and shape in place of each tensor. */
    private static Value described(Value value) {
        if (value instanceof Value.OfTensor tensor) {
            return describe(tensor.value());
        } else if (value instanceof Value.OfSparse sparse) {
            return describe(sparse.value());
        } else if (value instanceof Value.Items items) {
            return new Value.Items(described(items.values()));
        } else if (value instanceof Value.Tuple tuple) {
            return new Value.Tuple(described(tuple.values()));
        } else if (value instanceof Value.Dict dict) {
            Map<Value, Value> entries = new LinkedHashMap<>();
            dict.entries().forEach((key, entry) -> entries.put(described(key), described(entry)));
            return new Value.Dict(entries);
        }
        return value;
    }

    private static List<Value> described(List<Value> values) {
        List<Value> described = new ArrayList<>(values.size());
        values.forEach(value -> described.add(described(value)));
        return described;
    }

    private static Value describe(Tensor tensor) {
        return new Value.Dict(fields(tensor.dtype(), tensor.sizes(), tensor.device()));
    }

    private static Value describe(SparseTensor tensor) {
        Map<Value, Value> fields = fields(tensor.dtype(), tensor.sizes(), tensor.device());
        fields.put(Value.of("layout"), Value.of("sparse_coo"));
        fields.put(Value.of("coalesced"), Value.of(tensor.isCoalesced()));
        fields.put(Value.of("nnz"), Value.of(tensor.elementCount()));
        return new Value.Dict(fields);
    }

    private static Map<Value, Value> fields(DType dtype, long[] sizes, Device device) {
        Map<Value, Value> fields = new LinkedHashMap<>();
        fields.put(Value.of("dtype"), Value.of(dtype.torchName()));
        fields.put(Value.of("shape"), Value.ints(sizes));
        fields.put(Value.of("device"), Value.of(device.toString()));
        return fields;
    }
}
