package io.waybill.profiler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.api.ErrorCode;
import io.waybill.api.MessageType;
import io.waybill.api.RejectedMessageException;
import io.waybill.profiler.message.ProfilingId;
import io.waybill.profiler.message.ProfilingRequest;
import io.waybill.profiler.message.ProfilingResponse;
import io.waybill.profiler.profile.ProfileEvent;
import io.waybill.profiler.profile.ProfileEvent.Kind;
import io.waybill.profiler.profile.ProfileEvent.Outcome;
import io.waybill.profiler.profile.ProfilerConfig;
import io.waybill.profiler.profile.ProfilerState;
import io.waybill.testing.core.Seeds;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The profiler's payloads: what is written is read again, and what others write is checked. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class MessagesTest {

    private static final ProfilingId ID = new ProfilingId(0x0003_0000_0000_0007L, 2);

    private static ByteBuffer bytes(String text) {
        return ByteBuffer.wrap(text.getBytes(java.nio.charset.StandardCharsets.UTF_8));
    }

    private static ProfileEvent event(int parent, String name) {
        return new ProfileEvent(
                Kind.HANDLER,
                name,
                parent,
                3,
                1,
                "cuda:0",
                1_700_000_000_000_000_000L,
                42,
                Outcome.FAILED,
                List.of(List.of(), List.of(2L, 3L)),
                7);
    }

    private static ProfilingResponse response() {
        return new ProfilingResponse(
                ID, MessageType.NAMED_RET, bytes("inner"), 5, List.of(event(-1, "é one"), event(0, "")));
    }

    @Test
    void readsWhatIsWritten() throws Exception {
        for (ProfilerState state : ProfilerState.values()) {
            ProfilingRequest request = new ProfilingRequest(
                    ID, new ProfilerConfig(state, true, false), MessageType.NAMED_CALL, bytes("inner"));
            assertThat(ProfilingRequest.decode(request.encode())).isEqualTo(request);
        }
        assertThat(ProfilingResponse.decode(response().encode())).isEqualTo(response());
    }

    @Test
    void anErrorKeepsItsCodeAndItsText() throws Exception {
        ProfilingResponse failed =
                ProfilingResponse.decode(ProfilingResponse.failed(ID, ErrorCode.REFUSED, "é planted", 0, List.of())
                        .encode());
        assertThat(failed.type()).isEqualTo(MessageType.EXCEPTION);
        assertThat(failed.error()).hasMessage("é planted");
        assertThat(failed.error().code()).isEqualTo(ErrorCode.REFUSED);
    }

    @Test
    void eventsThatDoNotFitAreCounted() throws Exception {
        List<ProfileEvent> many = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
            many.add(event(i - 1, "rpc_sync#aten::add(worker0 -> worker1)"));
        }
        ByteBuffer encoded = new ProfilingResponse(ID, MessageType.NAMED_RET, bytes("inner"), 5, many).encode();
        assertThat(encoded.remaining()).isLessThan(600 << 10);
        ProfilingResponse read = ProfilingResponse.decode(encoded);
        assertThat(read.events())
                .hasSizeGreaterThan(1_000)
                .isEqualTo(many.subList(0, read.events().size()));
        assertThat(read.dropped()).isEqualTo(5 + 20_000 - read.events().size());
    }

    @Test
    void longNamesAreCut() throws Exception {
        ProfileEvent longOne = event(-1, "é".repeat(100_000));
        ProfilingResponse read = ProfilingResponse.decode(
                new ProfilingResponse(ID, MessageType.NAMED_RET, bytes(""), 0, List.of(longOne)).encode());
        assertThat(read.events().get(0).name()).hasSizeGreaterThan(1_000).hasSizeLessThan(10_000);
    }

    @Test
    void whatEndsEarlyOrGoesOnIsRefused() {
        ByteBuffer whole = response().encode();
        for (int length = 0; length < whole.remaining(); length++) {
            ByteBuffer cut = whole.duplicate().limit(length);
            assertThatThrownBy(() -> ProfilingResponse.decode(cut))
                    .as("the first " + length + " bytes")
                    .isInstanceOf(RejectedMessageException.class)
                    .hasMessageStartingWith("a RUN_WITH_PROFILING_RESP has ");
        }
        ByteBuffer longer = ByteBuffer.allocate(whole.remaining() + 1).put(whole.duplicate());
        assertThatThrownBy(() -> ProfilingResponse.decode(longer.flip().limit(longer.capacity())))
                .isInstanceOf(RejectedMessageException.class);
        for (int length = 0; length < 16; length++) {
            ByteBuffer cut = ByteBuffer.allocate(length);
            assertThatThrownBy(() -> ProfilingRequest.decode(cut)).isInstanceOf(RejectedMessageException.class);
        }
    }

    /** Nothing but a refusal comes of them, and no count or length of theirs is believed. */
    @Test
    void flippedBitsAreRefusedOrHarmless() {
        Random random = Seeds.random();
        byte[] whole = new byte[response().encode().remaining()];
        response().encode().get(whole);
        for (int i = 0; i < 20_000; i++) {
            byte[] damaged = whole.clone();
            for (int flips = random.nextInt(4); flips >= 0; flips--) {
                damaged[random.nextInt(damaged.length)] ^= (byte) (1 << random.nextInt(8));
            }
            try {
                ProfilingResponse.decode(ByteBuffer.wrap(damaged));
                ProfilingRequest.decode(ByteBuffer.wrap(damaged));
            } catch (RejectedMessageException e) {
                assertThat(e.code()).isEqualTo(ErrorCode.MALFORMED_BODY);
            }
        }
    }
}
