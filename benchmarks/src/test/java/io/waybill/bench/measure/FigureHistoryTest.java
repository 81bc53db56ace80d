package io.waybill.bench.measure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FigureHistoryTest {

    private static final String HEADER = "date,build,measurement,variant,metric,value,unit,machine,note";
    private static final FigureHistory.Occasion OCCASION = new FigureHistory.Occasion(
            "2026-11-30", "0.1.0", "bench callers --callers 1,4", "2 processors, JDK 25", "says \"quiet\"");

    @TempDir
    private Path directory;

    private static Map<String, Object> figures(Object... namesAndValues) {
        Map<String, Object> figures = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            figures.put((String) namesAndValues[i], namesAndValues[i + 1]);
        }
        return figures;
    }

    @Test
    void appendsALineForEachFigure() throws Exception {
        Path file = directory.resolve("figures.csv");
        FigureHistory history = new FigureHistory(file);
        history.requireUsable();
        history.append(OCCASION, figures("waiting", "balanced", "p50_ns", 1234L, "ratio_socket_p50", 0.5));
        history.requireUsable();
        history.append(
                OCCASION,
                figures(
                        "by_callers",
                        List.of(
                                figures("callers", 1L, "calls_per_s", 80_000.5),
                                figures("work", "sleeps 1 ms", "micros", 3L))));

        String start = "2026-11-30,0.1.0,\"bench callers --callers 1,4\",";
        String end = ",\"2 processors, JDK 25\",\"says \"\"quiet\"\"\"";
        assertThat(Files.readAllLines(file))
                .containsExactly(
                        HEADER,
                        start + ",p50_ns,1234,ns" + end,
                        start + ",ratio_socket_p50,0.5,ratio" + end,
                        start + "by_callers callers=1,callers,1," + end,
                        start + "by_callers callers=1,calls_per_s,80000.5,/s" + end,
                        start + "by_callers work=sleeps 1 ms,micros,3," + end);
    }

    @Test
    void refusesAFileWithOtherColumnsBeforeTheMeasurement() throws Exception {
        Path file = Files.writeString(directory.resolve("other.csv"), "name,age\nAda,36\n");
        assertThatThrownBy(() -> new FigureHistory(file).requireUsable())
                .isInstanceOf(IOException.class)
                .hasMessage(file + ": expected the columns " + HEADER + ", found name,age");
        assertThat(file).hasContent("name,age\nAda,36\n");
    }

    @Test
    void refusesAMissingFolderBeforeTheMeasurement() {
        Path folder = directory.resolve("none");
        Path file = folder.resolve("figures.csv");
        assertThatThrownBy(() -> new FigureHistory(file).requireUsable())
                .isInstanceOf(IOException.class)
                .hasMessage(file + ": expected the folder " + folder + ", found none; make it first");
    }

    @Test
    void hasTheColumnsOfTheProjectsOwnHistory() throws Exception {
        new FigureHistory(Path.of("../docs/performance/history.csv")).requireUsable();
    }
}
