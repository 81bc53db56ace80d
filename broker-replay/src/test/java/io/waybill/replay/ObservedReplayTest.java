package io.waybill.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.api.handler.LateResponse;
import io.waybill.api.handler.MessageHandler;
import io.waybill.replay.compare.Verdict;
import io.waybill.wire.Observations;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Handlers that take time and random numbers from their outbox, recorded with real workers, respond alike in a replay. */
@Timeout(120)
class ObservedReplayTest {

    private static final String OPERATION = "test.stamp";
    private static final int CALLS = 20;

    @TempDir
    private Path directory;

    private static final MessageHandler STAMPS = (message, outbox) -> {
        InstantSource clock = outbox.clock();
        RandomGenerator random = outbox.random();
        outbox.response()
                .int64("first", clock.instant().getNano())
                .int64("drawn", random.nextInt())
                .float64("more", random.nextGaussian())
                .int64("left", message.remainingNs())
                .int64("last", clock.millis());
    };

    private static final MessageHandler LATE = (message, outbox) -> {
        InstantSource clock = outbox.clock();
        LateResponse late = outbox.later();
        new Thread(() -> {
                    late.body().int64("at", clock.millis());
                    late.send();
                })
                .start();
    };

    private Path record(MessageHandler handler) throws Exception {
        return new ReplayScenario().handles("b", OPERATION, handler).record(directory, caller -> {
            for (int i = 0; i < CALLS; i++) {
                caller.call(Request.operation("b", OPERATION)).close();
            }
        });
    }

    private static ReplayReport replay(Path home, MessageHandler handler, List<String> reasons) throws Exception {
        return new ReplayScenario()
                .handles("b", OPERATION, handler)
                .replay(home)
                .run(call -> call.results().forEach(result -> reasons.add(result.reason())));
    }

    private static ReplayReport replay(Path home, MessageHandler handler) throws Exception {
        return replay(home, handler, new ArrayList<>());
    }

    @Test
    void areShownWhatTheySaw() throws Exception {
        Path home = record(STAMPS);

        assertThat(replay(home, STAMPS).count(Verdict.SAME)).isEqualTo(CALLS);
    }

    @Test
    void areShownItWhenTheyRespondLater() throws Exception {
        Path home = record(LATE);

        assertThat(replay(home, LATE).count(Verdict.SAME)).isEqualTo(CALLS);
    }

    @Test
    void mayAskForLess() throws Exception {
        Path home = record((message, outbox) -> {
            outbox.clock().millis();
            outbox.clock().millis();
            outbox.response().int64("n", 1);
        });

        ReplayReport report = replay(home, (message, outbox) -> {
            outbox.clock().millis();
            outbox.response().int64("n", 1);
        });
        assertThat(report.count(Verdict.SAME)).isEqualTo(CALLS);
    }

    @Test
    void areNamedWhereTheyAskForMore() throws Exception {
        Path home = record((message, outbox) ->
                outbox.response().int64("n", outbox.random().nextInt()));
        List<String> reasons = new ArrayList<>();

        ReplayReport report = replay(
                home,
                (message, outbox) -> {
                    int drawn = outbox.random().nextInt();
                    outbox.clock().millis();
                    outbox.response().int64("n", drawn);
                },
                reasons);
        assertThat(report.count(Verdict.NOT_REPLAYABLE)).isEqualTo(CALLS);
        assertThat(reasons.get(0))
                .startsWith("its handler asked for the time at ")
                .contains("ObservedReplayTest.java:")
                .endsWith("and the record has 1 observations, all of which it had seen");
    }

    @Test
    void areNamedWhenTheRecordHadNoRoom() throws Exception {
        MessageHandler looks = (message, outbox) -> {
            for (int i = 0; i < Observations.MAX + 1; i++) {
                outbox.clock().millis();
            }
            outbox.response().int64("n", 1);
        };
        Path home = record(looks);
        List<String> reasons = new ArrayList<>();

        assertThat(replay(home, looks, reasons).count(Verdict.NOT_REPLAYABLE)).isEqualTo(CALLS);
        assertThat(reasons.get(0))
                .endsWith("of all that it observed only the first " + Observations.MAX + " had room in the record");
    }
}
