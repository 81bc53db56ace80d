package io.waybill.home;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.waybill.home.error.HomeException;
import io.waybill.home.error.MalformedHomeFileException;
import io.waybill.home.identity.Groups;
import io.waybill.home.identity.Reachability;
import io.waybill.host.ProcessIdentity;
import io.waybill.testing.core.Seeds;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class WorkerRecordJsonTest {
    private static final WorkerRecord RECORD = new WorkerRecord(
            7,
            "ps0",
            WorkerState.READY,
            new ProcessIdentity(4711, 99, "b-1", "pid:[2]", 1000),
            1_790_000_000_000L,
            "0.1.0",
            "17.0.15",
            3,
            List.of("text.count", "aten::*"),
            List.of("text.count"),
            new Reachability("carrier-h2"),
            Groups.of("trainers", "canary"),
            Map.of("wait", "spin"));

    @Test
    void readsBackWhatItWrote() throws HomeException {
        assertThat(WorkerRecordJson.read(WorkerRecordJson.write(RECORD), "here"))
                .isEqualTo(RECORD);
    }

    @Test
    void skipsFieldsItDoesNotKnow() throws HomeException {
        String text = new String(WorkerRecordJson.write(RECORD), StandardCharsets.UTF_8)
                .replaceFirst("\\{", "{\"later\":{\"a\":[1,{\"b\":null}]},\"more\":1.5,");
        assertThat(WorkerRecordJson.read(text.getBytes(StandardCharsets.UTF_8), "here"))
                .isEqualTo(RECORD);
    }

    @Test
    void takesAWorkerOfAnEarlierVersionForLocal() throws HomeException {
        String later = new String(WorkerRecordJson.write(RECORD), StandardCharsets.UTF_8);
        String earlier = later.replace("\"reachability\":\"remote\",\"carrier\":\"carrier-h2\",", "")
                .replace("\"groups\":[\"trainers\",\"canary\"],", "");
        assertThat(earlier).doesNotContain("reachability", "carrier", "groups");

        WorkerRecord read = WorkerRecordJson.read(earlier.getBytes(StandardCharsets.UTF_8), "here");

        assertThat(read.reachability()).isEqualTo(Reachability.LOCAL);
        assertThat(read.groups()).isEqualTo(Groups.NONE);
        assertThat(read.with(read.state(), read.served(), read.settings())).isEqualTo(read);
    }

    @Test
    void checksReachabilityAndGroups() throws HomeException {
        String local = "expected the reachability local, or remote with a carrier, found '";
        refuses("\"remote\"", "\"local\"", "here: " + local + "local'");
        refuses("\"carrier-h2\"", "\"\"", "here: " + local + "remote'");
        refuses("\"remote\"", "\"near\"", "here: " + local + "near'");
        refuses("\"carrier-h2\"", "\"../h2\"", "here: Worker name must match");
        refuses("\"carrier-h2\"", "7", "here: expected VALUE_STRING as carrier, found VALUE_NUMBER_INT");
        refuses(
                "\"canary\"",
                "\"a b\"",
                "here: expected a group's name that matches [A-Za-z0-9_:.-]{1,127}, found 'a b'");
        refuses(
                "\"canary\"",
                "\"" + "g".repeat(128) + "\"",
                "here: expected a group's name that matches [A-Za-z0-9_:.-]{1,127}, found '" + "g".repeat(127) + "…'");
        refuses("\"canary\"", "\"trainers\"", "here: expected at most 64 different groups, found 2 names");
        String many = IntStream.range(0, 64).mapToObj(n -> "\"g" + n + "\"").collect(Collectors.joining(","));
        refuses("\"canary\"", many, "here: expected at most 64 different groups, found 65 names");
    }

    @Test
    void saysWhatItExpected() throws HomeException {
        refuses("\"id\":7", "\"id\":32768", "here: expected id from 0 to 32767, found 32768");
        refuses("\"id\":7", "\"id\":\"7\"", "here: expected VALUE_NUMBER_INT as id, found VALUE_STRING");
        refuses("\"id\":7,", "", "here: expected id from 0 to 32767, found null");
        refuses("READY", "GONE", "here: unknown state GONE");
        refuses("\"format\":1", "\"format\":2", "here: has format 2; this version reads 1");
        refuses("ps0", "p/0", "here: Worker name must match");
        refuses("\"pid\":4711", "\"pid\":0", "here: expected pid from 1 to 2147483647, found 0");
        refuses("\"generation\":3", "\"generation\":1.0", "as generation, found VALUE_NUMBER_FLOAT");
    }

    private static void refuses(String from, String to, String message) throws HomeException {
        String text = new String(WorkerRecordJson.write(RECORD), StandardCharsets.UTF_8);
        assertThat(text).contains(from);
        byte[] bytes = text.replace(from, to).getBytes(StandardCharsets.UTF_8);
        assertThatThrownBy(() -> WorkerRecordJson.read(bytes, "here"))
                .isInstanceOf(MalformedHomeFileException.class)
                .hasMessageContaining(message);
    }

    @Test
    void refusesEveryCut() throws HomeException {
        byte[] whole = WorkerRecordJson.write(RECORD);
        for (int length = 0; length < whole.length; length++) {
            byte[] cut = Arrays.copyOf(whole, length);
            assertThatThrownBy(() -> WorkerRecordJson.read(cut, "here")).isInstanceOf(MalformedHomeFileException.class);
        }
    }

    @Test
    void neverFailsOtherwiseOnDamage() throws HomeException {
        byte[] whole = WorkerRecordJson.write(RECORD);
        SplittableRandom random = new SplittableRandom(Seeds.one(20261120));
        for (int round = 0; round < 20_000; round++) {
            byte[] damaged = whole.clone();
            for (int n = random.nextInt(1, 5); n > 0; n--) {
                damaged[random.nextInt(damaged.length)] = (byte) random.nextInt(256);
            }
            try {
                WorkerRecordJson.read(damaged, "here");
            } catch (MalformedHomeFileException expected) {
                assertThat(expected).hasMessageStartingWith("here: ");
            }
        }
    }
}
