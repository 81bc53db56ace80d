package io.waybill.query.timeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.WorkerInfo;
import io.waybill.journal.JournalQueue;
import io.waybill.query.CallTree;
import io.waybill.query.StoredCall;
import io.waybill.query.stored.StoredRecord;
import io.waybill.query.timeline.CallSpan.Kind;
import io.waybill.testing.core.Seeds;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Where the calls of a tree are drawn. */
class CallTimelineTest {

    private static final long NONE = Long.MIN_VALUE;

    private long lastId;

    private static StoredRecord record(MessageType type, long id, int from, int to, long sentNs, long begunNs) {
        return new StoredRecord(
                new WorkerInfo(from, "w" + from),
                type.isResponse() ? JournalQueue.RESPONSES : JournalQueue.REQUESTS,
                "",
                Optional.empty(),
                0,
                id,
                from,
                to,
                type,
                false,
                MessageId.NONE,
                sentNs,
                0,
                0,
                begunNs,
                0,
                0,
                10,
                0,
                0,
                ErrorKind.UNKNOWN_ERROR,
                ErrorCode.UNKNOWN,
                Optional.empty(),
                MessageId.NONE,
                0);
    }

    private CallTree call(int from, int to, long sentNs, long begunNs, long respondedNs, CallTree... children) {
        long id = MessageId.of(from, ++lastId);
        return new CallTree(
                new StoredCall(
                        record(MessageType.SCRIPT_CALL, id, from, to, sentNs, 0),
                        Optional.of("op." + id),
                        respondedNs == NONE
                                ? Optional.empty()
                                : Optional.of(record(MessageType.SCRIPT_RET, id, to, from, respondedNs, begunNs))),
                List.of(children));
    }

    private static List<String> drawn(CallTree tree) {
        return CallTimeline.of(tree).spans().stream()
                .map(span -> span.kind() + " " + span.worker() + "/" + span.track() + "/" + span.depth() + " "
                        + span.beginNs() + ".." + span.endNs())
                .toList();
    }

    @Test
    void drawsWhatACallCausedBelowIt() {
        CallTree tree = call(0, 1, 100, 110, 200, call(1, 2, 120, 125, 150), call(1, 2, 150, 155, 190));
        assertThat(drawn(tree))
                .containsExactly(
                        "CALL 0/0/0 100..200",
                        "HANDLER 1/0/0 110..200",
                        "CALL 1/0/1 120..150",
                        "HANDLER 2/0/0 125..150",
                        "CALL 1/0/1 150..190",
                        "HANDLER 2/0/0 155..190");
    }

    @Test
    void drawsCallsThatOverlapSideBySide() {
        CallTree tree = call(
                0,
                1,
                100,
                110,
                200,
                call(1, 2, 120, 125, 180),
                call(1, 2, 130, 135, 190, call(2, 2, 140, 145, 160)),
                call(1, 2, 150, 0, 300));
        assertThat(drawn(tree))
                .containsExactly(
                        "CALL 0/0/0 100..200",
                        "HANDLER 1/0/0 110..200",
                        "CALL 1/0/1 120..180",
                        "HANDLER 2/0/0 125..180",
                        "CALL 1/1/0 130..190",
                        "HANDLER 2/1/0 135..190",
                        "CALL 2/1/1 140..160",
                        "HANDLER 2/1/2 145..160",
                        "CALL 1/2/0 150..300",
                        "HANDLER 2/2/0 150..300");
    }

    @Test
    void drawsACallWithoutAResponseToTheEnd() {
        CallTimeline timeline = CallTimeline.of(call(0, 1, 100, 110, 400, call(1, 2, 200, 0, NONE)));
        assertThat(timeline.endNs()).isEqualTo(400);
        assertThat(timeline.spans())
                .filteredOn(span -> span.call().response().isEmpty())
                .singleElement()
                .satisfies(span -> {
                    assertThat(span.endNs()).isEqualTo(400);
                    assertThat(span.isBeginOnRecord()).isTrue();
                });
    }

    @Test
    void survivesTimesThatAreNotInOrder() {
        assertThat(drawn(call(0, 1, 100, 50, 20, call(1, 1, 10, 0, 15))))
                .containsExactlyInAnyOrder(
                        "CALL 0/0/0 100..100", "HANDLER 1/0/0 50..50", "CALL 1/0/0 10..15", "HANDLER 1/0/1 10..15");
    }

    @Test
    void putsNothingBelowWhatDidNotCauseIt() {
        Random random = new Random(Seeds.fresh());
        for (int round = 0; round < 300; round++) {
            lastId = 0;
            Map<Long, Long> causes = new HashMap<>(); // of each call, the one whose handler sent it
            CallTree tree = random(random, 0, 1000, 3, causes);
            List<CallSpan> spans = CallTimeline.of(tree).spans();
            assertThat(spans).hasSize(2 * (causes.size() + 1));
            for (int a = 0; a < spans.size(); a++) {
                for (int b = a + 1; b < spans.size(); b++) {
                    check(spans.get(a), spans.get(b), causes);
                }
            }
        }
    }

    private CallTree random(Random random, int from, long untilNs, int levels, Map<Long, Long> causes) {
        long sentNs = random.nextLong(untilNs);
        long begunNs = sentNs + random.nextLong(50);
        long respondedNs = begunNs + random.nextLong(500);
        int to = random.nextInt(3);
        List<CallTree> children = new ArrayList<>();
        for (int i = levels == 0 ? 0 : random.nextInt(4); i > 0; i--) {
            children.add(random(random, to, respondedNs + 100, levels - 1, causes));
        }
        CallTree tree = call(from, to, sentNs, begunNs, respondedNs, children.toArray(new CallTree[0]));
        children.forEach(child ->
                causes.put(child.call().request().id(), tree.call().request().id()));
        return tree;
    }

    private static void check(CallSpan first, CallSpan second, Map<Long, Long> causes) {
        if (first.worker() != second.worker()
                || first.track() != second.track()
                || first.endNs() <= second.beginNs()
                || second.beginNs() == second.endNs()) {
            return;
        }
        String pair = first + " and " + second;
        assertThat(second.endNs()).as("one contains the other: " + pair).isLessThanOrEqualTo(first.endNs());
        assertThat(second.depth()).as("it is drawn below: " + pair).isGreaterThan(first.depth());
        long id = second.call().request().id();
        boolean isSame = first.call().request().id() == id && second.kind() == Kind.HANDLER;
        boolean isCaused = isSame;
        for (Long cause = causes.get(id); cause != null && !isCaused; cause = causes.get(cause)) {
            isCaused = cause == first.call().request().id();
        }
        assertThat(isCaused).as("the outer one caused the inner one: " + pair).isTrue();
    }
}
