package io.waybill.autograd;

import static io.waybill.autograd.TestWorkers.tensor;
import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.MessageId;
import io.waybill.api.Value;
import io.waybill.query.MessageFilter;
import io.waybill.testing.core.Seeds;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Replays of workers that took part in passes. */
@Timeout(value = 4, unit = TimeUnit.MINUTES)
class PassesReplayTest {

    private static final int ROUNDS = 3;
    private static final int ONCE_MORE = Integer.getInteger("waybill.once-more", 40) / 10;
    private static final String REASON = "BACKWARD_AUTOGRAD_REQ NOT_REPLAYABLE: it needs what is not on record: ";
    private static final String OUTSIDE =
            REASON + "the outcome of a call that its bundle made outside of a handler; its response:";
    private static final String CONTEXT = REASON + "the context ";

    @TempDir
    private Path directory;

    @ParameterizedTest
    @EnumSource
    void givesTheSameResponsesOrSaysWhyNot(BackwardMode mode) throws Exception {
        try (TestWorkers workers = TestWorkers.of(directory.resolve("home"), 3)) {
            Autograd autograd = workers.autograd(0);
            for (int round = 0; round < ROUNDS; round++) {
                autograd.context(context -> {
                    Value x = workers.leaf(new long[] {2}, 1, 2);
                    Value y = workers.leaf(new long[] {2}, 3, 4);
                    Value sum = workers.call(0, 1, "aten::add", x, y);
                    Value more = workers.call(0, 1, "aten::mul", sum, x);
                    Value other = workers.call(0, 2, "aten::mul", more, y);
                    Value last = workers.call(0, 1, "aten::mul", other, sum);
                    Value loss = workers.local("aten::sum", last);
                    autograd.backward(context, List.of(tensor(loss)), false, mode);
                });
            }
        }
        Recorded leaf = Recorded.replayed(directory.resolve("home"), "worker2");
        Recorded middle = Recorded.replayed(directory.resolve("home"), "worker1");
        Recorded driver = Recorded.replayed(directory.resolve("home"), "worker0");
        assertThat(leaf.count("BACKWARD_AUTOGRAD_REQ")).isGreaterThanOrEqualTo(ROUNDS);
        assertThat(leaf.differences()).allMatch(each -> each.contains(mode == BackwardMode.FAST ? "none" : OUTSIDE));
        assertThat(middle.differences())
                .isNotEmpty()
                .allMatch(each ->
                        each.contains(OUTSIDE) || each.contains("which began before it, could not be replayed"));
        assertThat(driver.differences()).isNotEmpty().allMatch(each -> each.contains(CONTEXT));
        for (String worker : List.of("worker0", "worker1", "worker2")) {
            assertGivesItOnceMore(worker);
        }
    }

    /** Each call that is selected by its id gives what the report of all said of it. */
    private void assertGivesItOnceMore(String worker) throws Exception {
        Map<Long, String> all =
                Recorded.replayed(directory.resolve("home"), worker).results();
        List<Long> ids = new ArrayList<>(all.keySet());
        Collections.shuffle(ids, Seeds.random());
        for (long id : ids.subList(0, Math.min(ids.size(), ONCE_MORE))) {
            MessageFilter only = new MessageFilter.Builder().ids(id, id).build();
            assertThat(Recorded.replayed(directory.resolve("home"), worker, only)
                            .results())
                    .as("call %s alone", MessageId.text(id))
                    .isEqualTo(Map.of(id, all.get(id)));
        }
    }
}
