package org.acme.wordcount;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.testing.core.RecordingOutbox;
import io.waybill.testing.core.TestMessage;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class WordCountTest {

    private final RecordingOutbox outbox = new RecordingOutbox();

    private Map<String, Value> count(String text) throws RejectedMessageException {
        new WordCount().handle(TestMessage.of("text.count", Map.of("text", Value.of(text))), outbox);
        return outbox.fields();
    }

    @Test
    void countsWords() throws Exception {
        assertThat(count("to be or not to be")).isEqualTo(Map.of("words", Value.of(6)));
    }

    @Test
    void countsNoSpaces() throws Exception {
        assertThat(count(" \t to  \n be ")).isEqualTo(Map.of("words", Value.of(2)));
    }

    @Test
    void findsNoneInAnEmptyText() throws Exception {
        assertThat(count("")).isEqualTo(Map.of("words", Value.of(0)));
    }

    @Test
    void refusesACallWithoutText() {
        TestMessage empty = TestMessage.of("text.count", Map.of());
        assertThatExceptionOfType(RejectedMessageException.class)
                .isThrownBy(() -> new WordCount().handle(empty, outbox))
                .extracting(RejectedMessageException::code)
                .isEqualTo(ErrorCode.MALFORMED_BODY);
    }
}
