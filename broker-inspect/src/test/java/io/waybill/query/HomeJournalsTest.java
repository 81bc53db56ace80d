package io.waybill.query;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageId;
import io.waybill.api.MessageType;
import io.waybill.api.Value;
import io.waybill.api.journal.CallRecord.Outcome;
import io.waybill.journal.JournalQueue;
import io.waybill.journal.WrittenQueue;
import io.waybill.journal.index.IndexBuilder;
import io.waybill.query.stored.StoredRecord;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class HomeJournalsTest {

    @TempDir
    Path temporary;

    private WrittenHome written;

    @BeforeEach
    void write() throws IOException {
        written = new WrittenHome(temporary).calls(0, 200);
    }

    private HomeJournals open() throws IOException {
        return HomeJournals.open(written.home);
    }

    private FoundMessage show(long counter) throws IOException {
        try (HomeJournals journals = open()) {
            return journals.show(MessageId.of(WrittenHome.CALLER, counter), HomeJournals.Effort.INDEX);
        }
    }

    private List<StoredCall> list(MessageFilter filter, int newest) throws IOException {
        List<StoredCall> calls = new ArrayList<>();
        try (HomeJournals journals = open()) {
            journals.list(filter, newest, calls::add);
        }
        return calls;
    }

    private static MessageFilter.Builder filter() {
        return new MessageFilter.Builder();
    }

    @Test
    void showsRequestAndResponse() throws IOException {
        FoundMessage found = show(8);
        StoredRecord request = found.request().orElseThrow();
        assertThat(request.worker().name()).isEqualTo("caller");
        assertThat(request.type()).isEqualTo(MessageType.NAMED_CALL);
        assertThat(found.requestPayload().orElseThrow().call().orElseThrow().name())
                .isEqualTo("text.count");
        assertThat(found.response().orElseThrow().worker().name()).isEqualTo("callee");
        assertThat(found.responsePayload().orElseThrow().result()).contains(Value.of(16));
        assertThat(found.notes()).isEmpty();
    }

    @Test
    void showsAnErrorWithItsTextAndCode() throws IOException {
        FoundMessage found = show(6);
        assertThat(found.response().orElseThrow().errorCode()).isEqualTo(ErrorCode.REFUSED);
        assertThat(found.responsePayload().orElseThrow().text()).contains("Error on Node 4: no");
    }

    @Test
    void showsARequestWithoutAResponse() throws IOException {
        assertThat(show(9).request()).isPresent();
        assertThat(show(9).response()).isEmpty();
    }

    @Test
    void saysWhenThereIsNoSuchMessage() throws IOException {
        assertThat(show(5000).isEmpty()).isTrue();
        try (HomeJournals journals = open()) {
            FoundMessage stranger = journals.show(MessageId.of(99, 1), HomeJournals.Effort.EVERY_RECORD);
            assertThat(stranger.isEmpty()).isTrue();
            assertThat(stranger.notes()).anyMatch(note -> note.contains("worker 99 has no journal"));
        }
    }

    @Test
    void showsParentAndChildren() throws IOException {
        long parent = MessageId.of(WrittenHome.CALLER, 8);
        long child = MessageId.of(WrittenHome.CALLEE, 0);
        try (WrittenQueue requests = WrittenQueue.open(written.worker(WrittenHome.CALLEE), JournalQueue.REQUESTS)) {
            requests.append(written.request(child, WrittenHome.CALLEE, WrittenHome.CALLER, "x", 8)
                    .parent(parent));
        }
        assertThat(show(8).children())
                .extracting(tree -> tree.call().request().id())
                .containsExactly(child);
        try (HomeJournals journals = open()) {
            FoundMessage found = journals.show(child, HomeJournals.Effort.INDEX);
            assertThat(found.request().orElseThrow().parent()).isEqualTo(parent);
            assertThat(found.ancestors())
                    .extracting(call -> call.request().id())
                    .containsExactly(parent);
        }
    }

    /** 3.8 leads to 4.0 and 4.1, 4.0 to 3.300, and that to 4.2. */
    private void nest() {
        nested(MessageId.of(WrittenHome.CALLEE, 0), MessageId.of(WrittenHome.CALLER, 8));
        nested(MessageId.of(WrittenHome.CALLEE, 1), MessageId.of(WrittenHome.CALLER, 8));
        nested(MessageId.of(WrittenHome.CALLER, 300), MessageId.of(WrittenHome.CALLEE, 0));
        nested(MessageId.of(WrittenHome.CALLEE, 2), MessageId.of(WrittenHome.CALLER, 300));
    }

    private void nested(long id, long parent) {
        int from = MessageId.worker(id);
        int to = from == WrittenHome.CALLER ? WrittenHome.CALLEE : WrittenHome.CALLER;
        try (WrittenQueue requests = WrittenQueue.open(written.worker(from), JournalQueue.REQUESTS)) {
            requests.append(written.request(id, from, to, "nested", 8).parent(parent));
        }
    }

    private static List<String> texts(List<CallTree> trees) {
        return trees.stream()
                .map(tree -> MessageId.text(tree.call().request().id()) + texts(tree.children()))
                .toList();
    }

    private void index() {
        for (int worker : List.of(WrittenHome.CALLER, WrittenHome.CALLEE)) {
            try (IndexBuilder builder =
                    IndexBuilder.open(written.worker(worker), WrittenQueue.settings(), WrittenQueue.HOST)) {
                while (builder.step(1000) == IndexBuilder.Progress.BEHIND) {
                    continue;
                }
            }
        }
    }

    @Test
    void showsWhatAMessageLedToAcrossWorkers() throws IOException {
        nest();
        List<String> expected = List.of("4.0[3.300[4.2[]]]", "4.1[]");
        assertThat(texts(show(8).children())).isEqualTo(expected);
        index();
        assertThat(texts(show(8).children())).isEqualTo(expected);
        nested(MessageId.of(WrittenHome.CALLEE, 3), MessageId.of(WrittenHome.CALLEE, 1));
        nested(MessageId.of(WrittenHome.CALLER, 301), MessageId.of(WrittenHome.CALLEE, 1));
        assertThat(texts(show(8).children())).containsExactly("4.0[3.300[4.2[]]]", "4.1[3.301[]]");
    }

    @Test
    void showsWhatLedToAMessage() throws IOException {
        nest();
        try (HomeJournals journals = open()) {
            FoundMessage found = journals.show(MessageId.of(WrittenHome.CALLEE, 2), HomeJournals.Effort.INDEX);
            assertThat(found.ancestors())
                    .extracting(call -> MessageId.text(call.request().id()))
                    .containsExactly("3.8", "4.0", "3.300");
            assertThat(found.ancestors().get(0).operation()).contains("text.count");
            assertThat(found.ancestors().get(0).outcome()).isEqualTo(Outcome.OK);
            assertThat(found.notes()).isEmpty();
        }
    }

    @Test
    void isNotLedInACircle() throws IOException {
        long first = MessageId.of(WrittenHome.CALLER, 400);
        long second = MessageId.of(WrittenHome.CALLEE, 9);
        nested(first, second);
        nested(second, first);

        FoundMessage found = show(400);

        assertThat(texts(found.children())).containsExactly("4.9[]");
        assertThat(found.ancestors()).hasSize(1);
        assertThat(found.notes()).anyMatch(note -> note.contains("lead in a circle"));
    }

    @Test
    void saysWhichAncestorIsMissing() throws IOException {
        nested(MessageId.of(WrittenHome.CALLEE, 0), MessageId.of(99, 7));
        try (HomeJournals journals = open()) {
            FoundMessage found = journals.show(MessageId.of(WrittenHome.CALLEE, 0), HomeJournals.Effort.INDEX);
            assertThat(found.notes()).containsExactly("the request 99.7, which led to it, is not on record here");
        }
    }

    @Test
    void showsNoMoreOfATreeThanItsBound() throws IOException {
        long parent = MessageId.of(WrittenHome.CALLER, 8);
        try (WrittenQueue requests = WrittenQueue.open(written.worker(WrittenHome.CALLEE), JournalQueue.REQUESTS)) {
            for (long counter = 0; counter < NestedCallSearch.MAX_CALLS + 10; counter++) {
                long id = MessageId.of(WrittenHome.CALLEE, counter);
                requests.append(written.request(id, WrittenHome.CALLEE, WrittenHome.CALLER, "x", 8)
                        .parent(parent));
            }
        }
        FoundMessage found = show(8);
        assertThat(found.children()).hasSize(NestedCallSearch.MAX_CALLS);
        assertThat(found.notes()).anyMatch(note -> note.contains("more requests below than are shown"));
    }

    @Test
    void listsTheNewestCallsInOrderOfTime() throws IOException {
        assertThat(list(MessageFilter.ALL, 5))
                .extracting(call -> MessageId.counter(call.request().id()))
                .containsExactly(195L, 196L, 197L, 198L, 199L);
        assertThat(list(MessageFilter.ALL, 0)).hasSize(200);
    }

    @Test
    void listsByOutcome() throws IOException {
        assertThat(list(filter().outcome(Outcome.NONE).build(), 0)).hasSize(20);
        assertThat(list(filter().outcome(Outcome.ERROR).build(), 0)).hasSize((int)
                java.util.stream.LongStream.range(0, 200)
                        .filter(counter -> counter % 7 == 6 && counter % 10 != 9)
                        .count());
    }

    @Test
    void listsByOperation() throws IOException {
        assertThat(list(filter().operation("text.length").build(), 0)).hasSize(100);
        assertThat(list(filter().operation("text.*").build(), 0)).hasSize(200);
        assertThat(list(filter().operation("text").build(), 0)).isEmpty();
        assertThat(list(filter().operation("*.length").build(), 0)).hasSize(100);
        assertThat(list(filter().operation("t*t.*ou*t").build(), 0)).hasSize(100);
        assertThat(list(filter().operation("*ext.").build(), 0)).isEmpty();
        assertThat(list(filter().operation("text.c(.*)").build(), 0)).isEmpty();
    }

    @Test
    void listsByArgument() throws IOException {
        ArgumentCondition text = ArgumentCondition.written("text", "a\u001b[31m7");
        assertThat(list(filter().argument(text).build(), 0))
                .extracting(call -> MessageId.counter(call.request().id()))
                .containsExactly(7L);
        assertThat(list(filter().argument(text).operation("text.count").build(), 0))
                .isEmpty();
        assertThat(list(
                        filter().argument(text)
                                .argument(ArgumentCondition.written("0", "8"))
                                .build(),
                        0))
                .isEmpty();
        assertThat(newest(filter().argument(text).build())).hasSize(1);
    }

    @Test
    void listsByErrorCode() throws IOException {
        int refused = list(filter().outcome(Outcome.ERROR).build(), 0).size();
        assertThat(list(filter().error(ErrorCode.REFUSED).build(), 0)).hasSize(refused);
        assertThat(list(filter().error(ErrorCode.TIMED_OUT).build(), 0)).isEmpty();
        assertThat(newest(filter().error(ErrorCode.REFUSED).build())).hasSize(refused);
        assertThat(newest(filter().error(ErrorCode.TIMED_OUT).build())).isEmpty();
    }

    @Test
    void listsByTheTextOfAResponseOrAnError() throws IOException {
        assertThat(list(filter().responseText("316").build(), 0))
                .extracting(call -> MessageId.counter(call.request().id()))
                .containsExactly(158L);
        int refused = list(filter().outcome(Outcome.ERROR).build(), 0).size();
        assertThat(list(filter().responseText("Node 4: no").build(), 0)).hasSize(refused);
        assertThat(newest(filter().responseText("Node 4: no").build())).hasSize(refused);
        assertThat(list(filter().responseText("text.count").build(), 0)).isEmpty();
        assertThat(list(filter().responseText("316").outcome(Outcome.ERROR).build(), 0))
                .isEmpty();
    }

    @Test
    void decodesControlCalls() throws IOException {
        long id = MessageId.of(WrittenHome.CALLER, 500);
        try (WrittenQueue requests = WrittenQueue.open(written.worker(WrittenHome.CALLER), JournalQueue.REQUESTS)) {
            requests.append(written.control(id, "bundle.install", "/a.jar"));
        }
        assertThat(list(filter().operation("control:bundle.*").build(), 0))
                .extracting(call -> call.operation().orElseThrow())
                .containsExactly("control:bundle.install");
        assertThat(show(500).requestPayload().orElseThrow().call().orElseThrow().named())
                .isEqualTo(Map.of("path", Value.of("/a.jar")));
    }

    @Test
    void decodesCallsOfPython() throws IOException {
        long id = MessageId.of(WrittenHome.CALLER, 500);
        Value args = new Value.Items(List.of(Value.of("Tensor float32[3, 4]")));
        Invocation call = new Invocation("models:train", List.of(), Map.of("args", args));
        try (WrittenQueue requests = WrittenQueue.open(written.worker(WrittenHome.CALLER), JournalQueue.REQUESTS)) {
            requests.append(written.request(id, MessageType.PYTHON_CALL, call));
        }
        assertThat(list(filter().operation("models:*").build(), 0))
                .extracting(found -> found.operation().orElseThrow())
                .containsExactly("models:train");
        assertThat(show(500).requestPayload().orElseThrow().call()).contains(call);
    }

    @Test
    void listsByTimeAndPeer() throws IOException {
        MessageFilter some = filter().worker(WrittenHome.CALLER)
                .peer(WrittenHome.CALLEE)
                .type(MessageType.NAMED_CALL)
                .since(WrittenHome.START_NS + 50_000)
                .until(WrittenHome.START_NS + 60_000)
                .build();
        assertThat(list(some, 0)).hasSize(10);
        assertThat(list(filter().worker(WrittenHome.CALLEE).build(), 0)).isEmpty();
        assertThat(list(filter().peer(WrittenHome.CALLER).build(), 0)).isEmpty();
    }

    @Test
    void listsById() throws IOException {
        long first = MessageId.of(WrittenHome.CALLER, 7);
        long last = MessageId.of(WrittenHome.CALLER, 12);
        assertThat(list(filter().ids(first, last).build(), 0))
                .extracting(call -> MessageId.counter(call.request().id()))
                .containsExactly(7L, 8L, 9L, 10L, 11L, 12L);
        assertThat(list(filter().ids(first, first).build(), 0)).hasSize(1);
        long strangers = MessageId.of(WrittenHome.CALLEE, 0);
        assertThat(list(filter().ids(strangers, strangers).build(), 0)).isEmpty();
    }

    @Test
    void listsByLatency() throws IOException {
        // each is responded to 500 ns after it was sent, but for every tenth
        assertThat(list(filter().slowerThan(499).build(), 0)).hasSize(180);
        assertThat(list(filter().slowerThan(500).build(), 0)).isEmpty();
        assertThat(list(filter().slowerThan(-1).outcome(Outcome.NONE).build(), 0))
                .isEmpty();
    }

    @Test
    void listsByParent() throws IOException {
        long parent = MessageId.of(WrittenHome.CALLER, 8);
        long child = MessageId.of(WrittenHome.CALLEE, 0);
        try (WrittenQueue requests = WrittenQueue.open(written.worker(WrittenHome.CALLEE), JournalQueue.REQUESTS)) {
            requests.append(written.request(child, WrittenHome.CALLEE, WrittenHome.CALLER, "x", 8)
                    .parent(parent));
        }
        assertThat(list(filter().parent(parent).build(), 0))
                .extracting(call -> call.request().id())
                .containsExactly(child);
    }

    @Test
    void followsResponsesByOutcomeAndLatency() throws IOException {
        assertThat(newest(filter().outcome(Outcome.ERROR).build()))
                .isNotEmpty()
                .allMatch(entry -> entry.record().isError() && entry.operation().isPresent());
        assertThat(newest(filter().slowerThan(499).operation("text.count").build()))
                .isNotEmpty()
                .allMatch(entry ->
                        entry.record().type().isResponse() && entry.operation().equals(Optional.of("text.count")));
        assertThat(newest(filter().slowerThan(500).build())).isEmpty();
    }

    private List<StoredEntry> newest(MessageFilter filter) throws IOException {
        List<StoredEntry> entries = new ArrayList<>();
        try (HomeJournals journals = open();
                HomeFollower follower = journals.follow(filter)) {
            follower.begin(1000, entries::add);
        }
        return entries;
    }

    @Test
    void followsWhatComes() throws IOException {
        List<StoredEntry> entries = new ArrayList<>();
        try (HomeJournals journals = open();
                HomeFollower follower = journals.follow(MessageFilter.ALL)) {
            follower.begin(3, entries::add);
            assertThat(entries).hasSize(3);
            assertThat(entries.get(2).record().id()).isEqualTo(MessageId.of(WrittenHome.CALLER, 199));
            entries.clear();
            assertThat(follower.poll(entries::add)).isZero();
            written.calls(200, 205);
            assertThat(follower.poll(entries::add)).isEqualTo(10);
            assertThat(entries).extracting(entry -> entry.record().sentNs()).isSorted();
        }
    }

    @Test
    void countsWhatIsThere() throws IOException {
        List<QueueStats> all = new ArrayList<>();
        try (HomeJournals journals = open()) {
            journals.stats(MessageFilter.ALL, all::add);
        }
        assertThat(all).hasSize(4);
        assertThat(all.get(0).records()).isEqualTo(200);
        assertThat(all.get(0).types()).containsEntry("NAMED_CALL", 200L);
        assertThat(all.get(3).errors()).isPositive();
        assertThat(all).allMatch(stats -> stats.damages() == 0);
        all.clear();
        try (HomeJournals journals = open()) {
            journals.stats(
                    filter().worker(WrittenHome.CALLER).operation("text.count").build(), all::add);
        }
        assertThat(all).extracting(QueueStats::records).containsExactly(100L, 0L);
    }

    @Test
    @Timeout(value = 20, unit = TimeUnit.SECONDS)
    void reportsWhatIsNoJournalAndGoesOn() throws Exception {
        Path workers = written.home.workersPath();
        assertThat(new ProcessBuilder("mkfifo", workers.resolve("7-fifo").toString())
                        .start()
                        .waitFor())
                .isZero();
        Files.createSymbolicLink(workers.resolve("8-link"), Path.of("/"));
        Files.writeString(workers.resolve("9-file"), "x");
        try (HomeJournals journals = open()) {
            assertThat(journals.problems()).hasSize(3);
            assertThat(journals.workers()).hasSize(2);
            assertThat(journals.show(MessageId.of(WrittenHome.CALLER, 3), HomeJournals.Effort.INDEX)
                            .isEmpty())
                    .isFalse();
        }
    }
}
