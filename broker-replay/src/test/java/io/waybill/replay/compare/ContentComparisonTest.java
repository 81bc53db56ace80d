package io.waybill.replay.compare;

import static io.waybill.replay.compare.Responses.bytes;
import static io.waybill.replay.compare.Responses.dict;
import static io.waybill.replay.compare.Responses.error;
import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageType;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Tensor;
import io.waybill.testing.core.BufferStorage;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the first difference of two responses is called. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ContentComparisonTest {

    private static void assertSame(ComparedResponse recorded, ComparedResponse replayed) {
        assertThat(ContentComparison.exact().firstDifference(recorded, replayed))
                .isEmpty();
    }

    private static void assertPart(ComparedResponse recorded, ComparedResponse replayed, String difference) {
        assertThat(ContentComparison.exact().firstDifference(recorded, replayed))
                .contains(difference);
    }

    private static void assertPart(Value recorded, Value replayed, String difference) {
        assertPart(Responses.of(recorded), Responses.of(replayed), difference);
    }

    @Test
    void findsEqualResponsesTheSame() {
        Value value = dict("words", Value.of(3), "parts", Value.list(Value.of("a"), Value.of(2.5)));
        assertSame(Responses.of(value), Responses.of(value));
        assertSame(bytes(0xff, 1, 2), bytes(0xff, 1, 2));
        assertSame(
                error(ErrorKind.TIMEOUT, ErrorCode.TIMED_OUT, "late"),
                error(ErrorKind.TIMEOUT, ErrorCode.TIMED_OUT, "late"));
    }

    @Test
    void namesTheFieldByItsPath() {
        assertPart(
                dict("lines", Value.of(1), "words", Value.of(3)),
                dict("lines", Value.of(1), "words", Value.of(4)),
                "reply.words: recorded 3, replayed 4");
        assertPart(
                Value.list(Value.list(Value.of(1), Value.of(2), Value.of(true))),
                Value.list(Value.list(Value.of(1), Value.of(2), Value.of(false))),
                "reply[0][2]: recorded True, replayed False");
        assertPart(
                dict("two words", Value.tuple(Value.of(0.5))),
                dict("two words", Value.tuple(Value.of(0.25))),
                "reply['two words'][0]: recorded 0.5, replayed 0.25");
    }

    @Test
    void namesKeysThatAreMissingOrNew() {
        assertPart(
                dict("words", Value.of(3), "lines", Value.of(1)),
                dict("words", Value.of(3)),
                "reply.lines: recorded 1, replayed without this key");
        assertPart(
                dict("words", Value.of(3)),
                dict("words", Value.of(3), "lines", Value.of(1)),
                "reply.lines: recorded without this key, replayed 1");
    }

    @Test
    void namesLengthsAndKinds() {
        assertPart(
                Value.list(Value.of(1), Value.of(2)), Value.list(Value.of(1)), "reply: length recorded 2, replayed 1");
        assertPart(
                dict("words", Value.of(3)),
                dict("words", Value.of("3")),
                "reply.words: recorded the int 3, replayed the text '3'");
        assertPart(Value.list(Value.of(3)), Value.NONE, "reply: recorded the list [3], replayed None");
        assertPart(Value.of(DType.INT8), Value.of(DType.INT16), "reply: recorded int8, replayed int16");
    }

    /** Whatever is allowed of numbers: more is not the same. */
    @Test
    void findsNothingAddedOrTakenAwayTheSame() {
        List<Value> one = List.of(Value.list(Value.of(1.5)), Value.tuple(Value.of(1.5)), dict("a", Value.of(1.5)));
        List<Value> two = List.of(
                Value.list(Value.of(1.5), Value.of(1.5)),
                Value.tuple(Value.of(1.5), Value.of(1.5)),
                dict("a", Value.of(1.5), "b", Value.of(1.5)));
        for (int i = 0; i < one.size(); i++) {
            ComparedResponse fewer = Responses.of(one.get(i));
            ComparedResponse more = Responses.of(two.get(i));
            for (ResponseComparison comparison :
                    List.of(ContentComparison.exact(), ContentComparison.within(FloatTolerance.DEFAULT))) {
                String shorter = i < 2 ? "reply: length recorded 1, replayed 2" : "reply.b: recorded without this key";
                String longer =
                        i < 2 ? "reply: length recorded 2, replayed 1" : "reply.b: recorded 1.5, replayed without";
                assertThat(comparison.firstDifference(fewer, more).orElse("nothing"))
                        .startsWith(shorter);
                assertThat(comparison.firstDifference(more, fewer).orElse("nothing"))
                        .startsWith(longer);
            }
        }
    }

    @Test
    void saysThatOnlyTheOrderOfADictIsAnother() {
        ComparedResponse recorded = Responses.of(dict("a", Value.of(1), "b", Value.of(1)));
        ComparedResponse replayed = Responses.of(dict("b", Value.of(1), "a", Value.of(1)));
        assertPart(
                recorded,
                replayed,
                "payload: the same values, in another order or otherwise encoded: first other byte at offset 10:"
                        + " recorded 0x61, replayed 0x62, of 35 bytes");
        assertThat(ContentComparison.within(FloatTolerance.DEFAULT).firstDifference(recorded, replayed))
                .isEmpty();
    }

    @Test
    void showsLongTextsAroundTheirParting() {
        String start = "x".repeat(1_000);
        assertPart(
                Value.of(start + "recorded" + start),
                Value.of(start + "replayed" + start),
                "reply: recorded '…" + "x".repeat(38) + "recorded" + "x".repeat(114) + "…', replayed '…"
                        + "x".repeat(38) + "replayed" + "x".repeat(114) + "…', from character 1002 on");
        assertPart(Value.of("to be"), Value.of("to bee"), "reply: recorded 'to be', replayed 'to bee'");
    }

    @Test
    void showsTheFirstOtherByteOfBytes() {
        assertPart(
                Value.of(new byte[] {1, 2, 3}),
                Value.of(new byte[] {1, 2, 4, 5}),
                "reply: recorded 3 bytes, replayed 4; first other byte at offset 2: recorded 0x03, replayed 0x04");
        assertPart(
                bytes(0xff, 1),
                bytes(0xff),
                "payload: recorded 2 bytes, replayed 1; first other byte at offset 1: recorded 0x01, replayed the"
                        + " end");
        assertPart(
                Responses.of(Value.of(1)),
                bytes(0xff),
                "payload: recorded 9 bytes, replayed 1; first other byte at offset 0: recorded 0x03, replayed 0xff");
    }

    @Test
    void comparesErrorsByCodeKindAndText() {
        ComparedResponse failed = error(ErrorKind.UNKNOWN_ERROR, ErrorCode.HANDLER_FAILED, "no text");
        assertPart(
                failed,
                error(ErrorKind.UNKNOWN_ERROR, ErrorCode.REFUSED, "no text"),
                "error code: recorded HANDLER_FAILED, replayed REFUSED");
        assertPart(
                failed,
                error(ErrorKind.TIMEOUT, ErrorCode.HANDLER_FAILED, "no text"),
                "error kind: recorded UNKNOWN_ERROR, replayed TIMEOUT");
        assertPart(
                failed,
                error(ErrorKind.UNKNOWN_ERROR, ErrorCode.HANDLER_FAILED, "no word"),
                "error text: recorded 'no text', replayed 'no word'");
    }

    @Test
    void saysThatOneIsAnErrorOrOfAnotherType() {
        ComparedResponse three = Responses.of(Value.of(3));
        assertPart(
                three,
                error(ErrorKind.UNKNOWN_ERROR, ErrorCode.HANDLER_FAILED, "no text"),
                "recorded a response of type NAMED_RET, replayed the error HANDLER_FAILED 'no text'");
        assertPart(
                three,
                new ComparedResponse(
                        MessageType.SCRIPT_RET, three.payload(), List.of(), ErrorKind.UNKNOWN_ERROR, ErrorCode.UNKNOWN),
                "recorded a response of type NAMED_RET, replayed a response of type SCRIPT_RET");
    }

    @Test
    void namesATensorByItsPathInTheResponse() {
        Tensor recorded = BufferStorage.floats(new long[] {2, 3}, 1, 2, 3, 4, 5, 1.5f);
        Tensor replayed = BufferStorage.floats(new long[] {2, 3}, 1, 2, 3, 4, 5, 1.25f);
        assertPart(
                dict("out", Value.of(recorded)),
                dict("out", Value.of(replayed)),
                "reply.out: float32[2, 3] at [1, 2]: recorded 1.5, replayed 1.25 (differs in 1 of 6 elements)");
    }

    @Test
    void comparesTensorsThatNoValueNames() {
        Tensor one = BufferStorage.floats(new long[] {1}, 1);
        ComparedResponse recorded = withTensors(one);
        assertPart(recorded, withTensors(), "tensors: recorded 1, replayed 0");
        assertPart(
                recorded,
                withTensors(BufferStorage.floats(new long[] {1}, 2)),
                "tensor 0: float32[1] at [0]: recorded 1.0, replayed 2.0 (differs in 1 of 1 elements)");
    }

    private static ComparedResponse withTensors(Tensor... tensors) {
        return new ComparedResponse(
                MessageType.NAMED_RET, new byte[] {-1}, List.of(tensors), ErrorKind.UNKNOWN_ERROR, ErrorCode.UNKNOWN);
    }

    @Test
    void comparesSparseTensorsByTheirParts() {
        assertPart(
                Value.of(sparse(1, false)),
                Value.of(sparse(2, false)),
                "reply.values: float32[1] at [0]: recorded 1.0, replayed 2.0 (differs in 1 of 1 elements)");
        assertPart(
                Value.of(sparse(1, false)),
                Value.of(sparse(1, true)),
                "reply: recorded sparse float32[5] nnz=1, replayed sparse float32[5] nnz=1 coalesced");
    }

    private static SparseTensor sparse(float element, boolean isCoalesced) {
        Tensor indices = Tensor.contiguous(DType.INT64, new long[] {1, 1}, BufferStorage.counting(Long.BYTES));
        // the indices say a place that is none: nobody reads it
        return new SparseTensor(indices, BufferStorage.floats(new long[] {1}, element), new long[] {5}, isCoalesced);
    }
}
