package io.waybill.cli.top;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.metrics.LatencyHistogram;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the keys of {@code waybill top} do. */
@Timeout(30)
class TopViewTest {

    private static final List<TopRow> ROWS = List.of(row("ps0", "text.count", 1, 9), row("ps1", "text.echo", 5, 2));

    private final TopView view = new TopView(TopView.Sort.RATE, "", false);

    private static TopRow row(String worker, String operation, double rate, long inFlight) {
        return new TopRow(worker, operation, rate, LatencyHistogram.EMPTY, 1, inFlight, 0, Map.of(), 0, 0, 0);
    }

    private void press(String keys) {
        keys.chars().forEach(key -> assertThat(view.onKey(key)).isTrue());
    }

    private List<String> workers() {
        return view.of(ROWS).stream().map(TopRow::worker).toList();
    }

    @Test
    void changeTheOrder() {
        assertThat(workers()).containsExactly("ps1", "ps0");
        press("<");
        assertThat(view.line()).contains("sort: inflight");
        assertThat(workers()).containsExactly("ps0", "ps1");
        press(">");
        assertThat(view.line()).contains("sort: rate");
        assertThat(workers()).containsExactly("ps1", "ps0");
    }

    @Test
    void filter() {
        press("/couNT\u007f\u007fnt");
        assertThat(view.line()).startsWith("filter: count_");
        assertThat(workers()).as("before Enter").hasSize(2);
        press("\n");
        assertThat(workers()).containsExactly("ps0");
        assertThat(view.line()).contains("/ filter: count");
        press("/\u001b");
        assertThat(workers()).as("after Esc").containsExactly("ps0");
        press("/" + "\b".repeat(9) + "q\r");
        assertThat(workers()).as("q is a letter of the filter").isEmpty();
        press("/\u007f\n");
        assertThat(workers()).hasSize(2);
    }

    @Test
    void pauseSwitchSidesAndQuit() {
        press("p");
        assertThat(view.isPaused()).isTrue();
        assertThat(view.line()).startsWith("PAUSED");
        press(" ");
        assertThat(view.isPaused()).isFalse();
        press("c");
        assertThat(view.isCalled()).isTrue();
        assertThat(view.line()).contains("c: called");
        press("xyz\u001b[A"); // nothing, and an arrow
        assertThat(view.line()).contains("c: called");
        assertThat(view.onKey('q')).isFalse();
    }
}
