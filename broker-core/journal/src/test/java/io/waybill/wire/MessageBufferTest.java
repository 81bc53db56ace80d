package io.waybill.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.Test;

/** The payload as handlers and listeners get it. */
class MessageBufferTest {

    private final MessageBuffer buffer = new MessageBuffer();
    private final RecordView view = new RecordView(buffer);

    private void fill(int length, byte first) {
        byte[] payload = new byte[length];
        payload[0] = first;
        buffer.begin(MessageType.userRequest(0x42), 7, 1, 2, length, 0).flags(0).payload(payload, 0, length);
    }

    @Test
    void beginsAtZeroWhateverAnEarlierCallLeft() {
        fill(8, (byte) 1);
        ByteBuffer payload = view.payload();
        assertThat(payload.getLong(0)).isEqualTo(1L << 56);
        payload.order(ByteOrder.LITTLE_ENDIAN).position(3).limit(5);
        fill(100_000, (byte) 2); // more than it had
        assertThat(view.payload().position()).isZero();
        assertThat(view.payload().remaining()).isEqualTo(100_000);
        assertThat(view.payload().getLong(0)).isEqualTo(2L << 56);
        view.payload().order(ByteOrder.LITTLE_ENDIAN).position(3).limit(5);
        fill(8, (byte) 3);
        assertThat(view.payload().order()).isEqualTo(ByteOrder.BIG_ENDIAN);
        assertThat(view.payload().getLong()).isEqualTo(3L << 56);
        assertThat(view.payload().isReadOnly()).isTrue();
    }
}
