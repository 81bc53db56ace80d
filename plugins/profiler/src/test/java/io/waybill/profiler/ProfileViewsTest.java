package io.waybill.profiler;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.waybill.profiler.profile.NameTotals;
import io.waybill.profiler.profile.Profile;
import io.waybill.profiler.profile.ProfileEvent;
import io.waybill.profiler.profile.ProfileEvent.Kind;
import io.waybill.profiler.profile.ProfileEvent.Outcome;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.w3c.dom.Document;
import org.xml.sax.InputSource;

/** A profile as a table, a page and a trace. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class ProfileViewsTest {

    private static final String KEY = "rpc_sync#text.<b>\"\\(a -> b)";

    private static ProfileEvent event(Kind kind, String name, int parent, int worker, long beginNs, long durationNs) {
        return new ProfileEvent(
                kind, name, parent, worker, 0, "cpu", beginNs, durationNs, Outcome.DONE, List.of(List.of(2L, 3L)), 24);
    }

    private static Profile twoCalls() {
        String remote = KEY + ProfileEvent.REMOTE_OP + "text.<b>";
        return new Profile(
                List.of(
                        event(Kind.CALL, KEY, -1, 0, 1_000_000, 10_000),
                        event(Kind.HANDLER, remote, 0, 1, 1_002_000, 5_000),
                        event(Kind.CALL, KEY, -1, 0, 1_005_000, 20_000), // at the same time
                        event(Kind.HANDLER, remote, 2, 1, 1_006_000, 1_000)),
                Map.of(0, "a", 1, "b"),
                3);
    }

    @Test
    void theTraceIsJsonWithATrackForEachWorkerAndAFlowForEachCall() throws Exception {
        JsonNode trace = new ObjectMapper().readTree(twoCalls().chromeTrace());
        List<String> spans = new ArrayList<>();
        List<String> flows = new ArrayList<>();
        List<String> processes = new ArrayList<>();
        for (JsonNode each : trace.get("traceEvents")) {
            switch (each.get("ph").asText()) {
                case "X" ->
                    spans.add(each.get("name").asText() + " " + each.get("pid") + "/" + each.get("tid") + " "
                            + each.get("ts").asDouble() + " " + each.get("dur").asDouble());
                case "M" -> processes.add(each.get("args").get("name").asText());
                default -> flows.add(each.get("ph").asText() + each.get("id") + " of " + each.get("pid"));
            }
        }
        assertThat(processes).containsExactly("a (0)", "b (1)");
        assertThat(spans)
                .containsExactly(
                        KEY + " 0/0 0.0 10.0",
                        KEY + "#remote_op: text.<b> 1/0 2.0 5.0",
                        KEY + " 0/1 5.0 20.0",
                        KEY + "#remote_op: text.<b> 1/1 6.0 1.0");
        assertThat(flows).containsExactly("s0 of 0", "f0 of 1", "s2 of 0", "f2 of 1");
        assertThat(trace.get("traceEvents").get(2).get("args").get("shapes").toString())
                .isEqualTo("[[2,3]]");
        assertThat(trace.get("otherData").get("dropped").asInt()).isEqualTo(3);
    }

    @Test
    void withoutWaitsTheOthersKeepWhatCausedThem() {
        Profile waited = new Profile(
                List.of(
                        event(Kind.CALL, "first", -1, 0, 1_000, 900),
                        event(Kind.WAIT, "queued", 0, 1, 1_100, 50),
                        event(Kind.HANDLER, "handled", 0, 1, 1_200, 300),
                        event(Kind.WAIT, "thread", 2, 1, 1_250, 50),
                        event(Kind.CALL, "nested", 2, 1, 1_300, 100),
                        event(Kind.HANDLER, "inner", 4, 0, 1_350, 10)),
                Map.of(0, "a", 1, "b"),
                3);
        assertThat(waited.withoutWaits().events())
                .extracting(event -> event.name() + " after " + event.parent())
                .containsExactly("first after -1", "handled after 0", "nested after 1", "inner after 2");
        assertThat(waited.withoutWaits().dropped()).isEqualTo(3);
    }

    @Test
    void anEmptyProfileIsShownToo() throws Exception {
        Profile empty = new Profile(List.of(), Map.of(0, "a"), 0);
        assertThat(new ObjectMapper().readTree(empty.chromeTrace()).get("traceEvents"))
                .isEmpty();
        assertThat(empty.table().lines()).hasSize(1);
        assertThat(empty.html()).contains("0 events");
    }

    @Test
    void theTableHasTheTotalsOfEachName() {
        List<ProfileEvent> events = new ArrayList<>();
        for (int i = 1; i <= 200; i++) {
            events.add(event(Kind.SCOPE, "many", -1, 0, 0, i * 1_000));
        }
        events.add(event(Kind.SCOPE, "one", -1, 0, 0, 7_500));
        Profile profile = new Profile(events, Map.of(), 0);
        assertThat(profile.totals())
                .containsExactly(
                        new NameTotals("many", 200, 20_100_000, 100_000, 198_000, 200_000),
                        new NameTotals("one", 1, 7_500, 7_500, 7_500, 7_500));
        assertThat(profile.table().lines().toList().get(2)).matches(" +1 +7\\.5 +7\\.5 +7\\.5 +7\\.5 +7\\.5  one");
    }

    /** Names come from elsewhere, so they are escaped: the page is well-formed, and refers to nothing. */
    @Test
    void thePageStandsAlone() throws Exception {
        String page = twoCalls().html();
        assertThat(page).doesNotContain("<script", "http", "<b>", " src=", "url(");
        String svg = page.substring(page.indexOf("<svg"), page.indexOf("</svg>") + 6);
        Document picture =
                DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader(svg)));
        assertThat(picture.getElementsByTagName("rect").getLength()).isEqualTo(4);
        assertThat(picture.getElementsByTagName("title").item(0).getTextContent())
                .startsWith(KEY);
        assertThat(page).contains("3 more events are not drawn", "rpc_sync#text.&lt;b&gt;");
    }
}
