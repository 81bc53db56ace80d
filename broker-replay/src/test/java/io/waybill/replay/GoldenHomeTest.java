package io.waybill.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.home.Home;
import io.waybill.host.Host;
import io.waybill.query.HomeJournals;
import io.waybill.query.MessageFilter;
import io.waybill.query.stored.StoredRecord;
import io.waybill.query.verify.Finding;
import io.waybill.query.verify.Verification;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongPredicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/**
 * A home that an earlier build wrote is read, verified, replayed and joined by this one. {@code -Dwaybill.golden=FILE} writes a new one,
 * which is added beside those of earlier formats and replaces none.
 */
@Timeout(120)
class GoldenHomeTest {

    private static final String FIRST = "/golden/home-format-1.gz";
    /** Three wrapped texts, two tensors with a call inside each, and the three calls of a reference. */
    private static final int CALLS = 10;

    @TempDir
    private Path directory;

    private Path home() throws IOException {
        try (InputStream packed = GoldenHomeTest.class.getResourceAsStream(FIRST)) {
            return PackedHome.unpack(packed, directory.resolve("home"));
        }
    }

    @Test
    @EnabledIfSystemProperty(named = "waybill.golden", matches = ".+")
    void isWritten() throws Exception {
        Path home = GoldenCalls.scenario().record(directory, GoldenCalls::play);
        PackedHome.pack(home, Path.of(System.getProperty("waybill.golden")));
    }

    @Test
    void isListed() throws IOException {
        try (HomeJournals journals = HomeJournals.open(Home.openExisting(home(), Host.real()))) {
            List<String> listed = new ArrayList<>();
            journals.list(MessageFilter.ALL, 100, call -> listed.add(String.valueOf(call)));
            assertThat(journals.workers())
                    .extracting(info -> info.id() + "-" + info.name())
                    .containsExactly("0-b", "1-c", "2-caller");
            assertThat(journals.problems()).isEmpty();
            assertThat(listed).hasSizeGreaterThanOrEqualTo(CALLS);
        }
    }

    @Test
    void isWhole() throws IOException {
        List<Finding> findings = new ArrayList<>();
        try (HomeJournals journals = HomeJournals.open(Home.openExisting(home(), Host.real()))) {
            Verification verification = journals.verify(findings::add);
            assertThat(findings).filteredOn(Finding::isDamage).isEmpty();
            assertThat(verification.records()).isGreaterThanOrEqualTo(2 * CALLS);
        }
    }

    @Test
    void isReplayed() throws IOException {
        ReplayReport report = GoldenCalls.scenario().replay(home()).run();
        assertThat(report.isAllSame()).as("%s", report).isTrue();
        assertThat(report.calls()).isEqualTo(CALLS);
    }

    /**
     * Returns the lengths of each call's records: of those that were sent before a time, or since. Control messages of references are left out: the
     * last ones may have no response when their sender leaves.
     */
    private static List<String> lengths(Path home, LongPredicate sentNs) throws IOException {
        List<String> lengths = new ArrayList<>();
        try (HomeJournals journals = HomeJournals.open(Home.openExisting(home, Host.real()))) {
            journals.list(MessageFilter.ALL, 100, call -> {
                StoredRecord request = call.request();
                if (sentNs.test(request.sentNs()) && !request.type().name().startsWith("RREF_")) {
                    StoredRecord response = call.response().orElseThrow();
                    lengths.add(
                            request.type() + " " + call.operation().orElse("") + ": " + request.payloadBytes() + " and "
                                    + request.sectionBytes() + " bytes, " + response.payloadBytes() + " and "
                                    + response.sectionBytes() + " bytes");
                }
            });
        }
        return lengths;
    }

    @Test
    void hasRecordsAsLongAsThoseOfThisBuild() throws Exception {
        Path home = home();
        long begunNs = Host.real().clock().wallNs();
        List<String> before = lengths(home, sentNs -> sentNs < begunNs);
        GoldenCalls.scenario().record(home.getParent(), GoldenCalls::play);

        assertThat(before).hasSizeGreaterThanOrEqualTo(CALLS);
        assertThat(lengths(home, sentNs -> sentNs >= begunNs)).containsExactlyInAnyOrderElementsOf(before);
    }

    @Test
    void isJoined() throws Exception {
        Path joined = GoldenCalls.scenario().record(home().getParent(), GoldenCalls::play);
        ReplayReport report = GoldenCalls.scenario().replay(joined).run();
        assertThat(report.isAllSame()).as("%s", report).isTrue();
        assertThat(report.calls()).isEqualTo(2 * CALLS);
    }
}
