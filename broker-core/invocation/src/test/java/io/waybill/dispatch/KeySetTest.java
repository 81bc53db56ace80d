package io.waybill.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageType;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class KeySetTest {

    private static final KeySet SET = KeySet.of(
            List.of("text.count", "0x142", "SCRIPT_CALL", "control:bundle.list", "function:f", "nonsense", ""));

    private static byte[] named(String name) {
        byte[] utf8 = name.getBytes(StandardCharsets.UTF_8);
        byte[] payload = new byte[2 + utf8.length + 3];
        payload[0] = (byte) utf8.length;
        payload[1] = (byte) (utf8.length >> 8);
        System.arraycopy(utf8, 0, payload, 2, utf8.length);
        return payload;
    }

    private static boolean takes(byte[] payload) {
        return SET.takes(MessageType.NAMED_CALL, payload, payload.length);
    }

    @Test
    void takesTypesAndOperations() {
        assertThat(SET.takes(MessageType.of(0x142), new byte[0], 0)).isTrue();
        assertThat(SET.takes(MessageType.SCRIPT_CALL, new byte[0], 0)).isTrue();
        assertThat(takes(named("text.count"))).isTrue();
    }

    @Test
    void takesNothingElse() {
        assertThat(SET.takes(MessageType.of(0x143), new byte[0], 0)).isFalse();
        assertThat(takes(named("text.coun"))).isFalse();
        assertThat(takes(named("text.count2"))).isFalse();
        assertThat(takes(named("f"))).isFalse();
        assertThat(takes(named("bundle.list"))).isFalse();
        assertThat(takes(named(""))).isFalse();
    }

    @Test
    void takesNoNameThatDoesNotFit() {
        byte[] payload = named("text.count");
        assertThat(SET.takes(MessageType.NAMED_CALL, payload, 0)).isFalse();
        assertThat(SET.takes(MessageType.NAMED_CALL, payload, 1)).isFalse();
        assertThat(SET.takes(MessageType.NAMED_CALL, payload, 11)).isFalse();
        payload[1] = (byte) 0xff;
        assertThat(takes(payload)).isFalse();
    }

    @Test
    void takesWhatAPatternMatches() {
        KeySet prefix = KeySet.of(List.of("py.*", "py.torch.*"));
        assertThat(takes(prefix, "py.add")).isTrue();
        assertThat(takes(prefix, "py.torch.add")).isTrue();
        assertThat(takes(prefix, "python.add")).isFalse();
        assertThat(prefix.takes(MessageType.of(0x142), new byte[0], 0)).isFalse();

        assertThat(takes(KeySet.of(List.of("*")), "any.thing")).isTrue();
        KeySet types = KeySet.of(List.of("type:*"));
        assertThat(types.takes(MessageType.of(0x142), new byte[0], 0)).isTrue();
        assertThat(takes(types, "any.thing")).isFalse();
    }

    private static boolean takes(KeySet set, String operation) {
        byte[] payload = named(operation);
        return set.takes(MessageType.NAMED_CALL, payload, payload.length);
    }
}
