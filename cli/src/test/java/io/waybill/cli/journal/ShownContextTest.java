package io.waybill.cli.journal;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.api.MessageType;
import io.waybill.query.stored.Payload;
import io.waybill.wire.MessageBuffer;
import io.waybill.wire.OptionalFields;
import io.waybill.wire.RecordView;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ShownContextTest {

    private static final int FIRST_KIND = 104;

    private static byte[] digest() {
        byte[] digest = new byte[OptionalFields.DIGEST_LENGTH];
        Arrays.fill(digest, (byte) 0xc4);
        return digest;
    }

    private static MessageBuffer record(OptionalFields fields) {
        MessageBuffer buffer = new MessageBuffer();
        buffer.begin(MessageType.NAMED_RET, 7, 2, 1, fields.length(), 0)
                .flags(0)
                .optionalFields(fields, 0);
        return buffer;
    }

    private static Payload payload(MessageBuffer buffer) throws Exception {
        buffer.seal(0);
        RecordView view = new RecordView(buffer);
        view.check();
        return Payload.of(view);
    }

    private static String text(Payload payload) {
        StringWriter out = new StringWriter();
        ShownContext.print(payload, new PrintWriter(out));
        return out.toString();
    }

    private static String json(Payload payload) throws Exception {
        StringWriter out = new StringWriter();
        try (JsonGenerator json = new JsonFactory().createGenerator(out)) {
            json.writeStartObject();
            ShownContext.write(payload, json);
            json.writeEndObject();
        }
        return out.toString();
    }

    @Test
    void showsTheOptionalFieldsThatItKnows() throws Exception {
        Payload payload = payload(record(OptionalFields.NONE.withStreamEnd(7).withChainDigest(digest())));

        assertThat(text(payload).lines())
                .containsExactly("  stream   part 7, the last", "  chain    " + "c4".repeat(32));
        assertThat(json(payload))
                .isEqualTo("{\"stream\":{\"sequence\":7,\"end\":true},\"chain_digest\":\"" + "c4".repeat(32) + "\"}");
    }

    @Test
    void namesThoseOfLaterVersions() throws Exception {
        MessageBuffer later = record(OptionalFields.NONE.withStreamPart(3));
        later.memory().putByte(FIRST_KIND, (byte) 77);

        assertThat(text(payload(later)).lines())
                .containsExactly("  field    kind 77, 9 bytes: not known to this version");
        assertThat(json(payload(later))).isEqualTo("{\"unknown_fields\":[{\"kind\":77,\"bytes\":9}]}");
    }

    @Test
    void showsNothingOfAPlainRecord() throws Exception {
        assertThat(text(payload(record(OptionalFields.NONE)))).isEmpty();
        assertThat(json(payload(record(OptionalFields.NONE)))).isEqualTo("{}");
    }
}
