package io.waybill.replay.run;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.handler.RequestArrival;
import io.waybill.wire.Observation;
import io.waybill.wire.Observation.Kind;
import io.waybill.wire.Observations;
import java.time.Clock;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What was observed is shown again in its order, and where a handler leaves it is told. */
@Timeout(30)
class RecordedObservationsTest {

    private static final Observation FIRST = new Observation(Kind.TIME, 1_700_000_000_123_456_789L);
    private static final Observation SECOND = new Observation(Kind.TIME, -1);
    private static final Observation SEED = new Observation(Kind.SEED, 42);

    private final List<String> departures = new ArrayList<>();

    private RecordedObservations again(Observation... seen) {
        return new RecordedObservations(new Observations(List.of(seen), false), departures::add);
    }

    private String departure() {
        assertThat(departures).hasSize(1);
        return departures.get(0);
    }

    @Test
    void showsTheSameInTheSameOrder() {
        RecordedObservations again = again(FIRST, SEED, SECOND);

        assertThat(again.instant()).isEqualTo(Instant.ofEpochSecond(1_700_000_000L, 123_456_789));
        assertThat(again.random().nextLong()).isEqualTo(new Random(42).nextLong());
        assertThat(again.random()).isSameAs(again.random());
        assertThat(again.millis()).isEqualTo(-1);
        assertThat(departures).isEmpty();
    }

    @Test
    void showsTheTimeThatWasLeftAsOftenAsItIsAskedFor() {
        RecordedObservations again = again(new Observation(Kind.LEFT, 17), new Observation(Kind.LEFT, 9), FIRST);

        assertThat(List.of(again.leftNs(), again.leftNs(), again.leftNs()))
                .as("a wait may be in more steps than on record")
                .containsExactly(17L, 9L, 9L);
        assertThat(again.instant()).isEqualTo(Instant.ofEpochSecond(1_700_000_000L, 123_456_789));
        assertThat(again.leftNs()).isEqualTo(9);
        assertThat(departures).isEmpty();
    }

    @Test
    void reportsThatTheTimeThatWasLeftWasNeverSeen() {
        again(FIRST).leftNs();

        assertThat(departure())
                .startsWith("its handler asked for the time that was left at ")
                .endsWith("where observation 1 on record is the time");
    }

    @Test
    void showsTheArrivalWhereverItIsAskedFor() {
        List<Observation> arrived = LongStream.of(2, 3, 4, 5, 6)
                .mapToObj(ns -> new Observation(Kind.ARRIVAL, ns))
                .toList();
        List<Observation> all = new ArrayList<>(List.of(FIRST));
        all.addAll(arrived);
        all.add(SEED);
        RecordedObservations again = again(all.toArray(Observation[]::new));

        again.instant();
        assertThat(again.random().nextLong()).as("without the arrival").isEqualTo(new Random(42).nextLong());
        assertThat(again.arrival(1)).isEqualTo(new RequestArrival(1, 2, 3, 4, 5, 6));
        assertThat(departures).isEmpty();
        again(FIRST).arrival(1);
        assertThat(departure())
                .startsWith("its handler asked for the times of its arrival at ")
                .endsWith("and they are not on record");
    }

    @Test
    void letsAHandlerSeeLess() {
        again(FIRST, SEED).instant();
        assertThat(departures).isEmpty();
    }

    @Test
    void reportsWhereAHandlerAskedForMore() {
        RecordedObservations again = again(FIRST);
        Instant last = again.instant();

        assertThat(again.instant()).as("time stands still").isEqualTo(last);
        assertThat(departure())
                .startsWith("its handler asked for the time at ")
                .contains("RecordedObservationsTest.reportsWhereAHandlerAskedForMore(RecordedObservationsTest.java:")
                .endsWith("the record has 1 observations, all of which it had seen");
    }

    @Test
    void reportsWhereAHandlerAskedForSomethingElse() {
        RecordedObservations again = again(FIRST, SEED, SECOND);
        again.instant();
        Instant last = again.instant();

        assertThat(departure())
                .startsWith("its handler asked for the time at ")
                .endsWith("where observation 2 on record is random numbers");
        assertThat(again.random().nextLong()).as("nothing is shown any more").isEqualTo(new Random(0).nextLong());
        assertThat(again.instant()).isEqualTo(last);
        assertThat(departure()).as("the first point stays").contains("observation 2");
    }

    @Test
    void reportsWhoAskedThroughAClockOfJavas() {
        RecordedObservations again = again();

        Clock clock = again.withZone(ZoneOffset.UTC);
        LocalDate.now(clock);

        assertThat(departure())
                .contains(
                        "RecordedObservationsTest.reportsWhoAskedThroughAClockOfJavas(RecordedObservationsTest.java:");
    }

    @Test
    void reportsThatTheRecordHadNoRoom() {
        RecordedObservations again = new RecordedObservations(Observations.LEFT_OUT, departures::add);
        again.random();

        assertThat(departure())
                .startsWith("its handler asked for random numbers at ")
                .endsWith("of all that it observed only the first 0 had room in the record");
    }
}
