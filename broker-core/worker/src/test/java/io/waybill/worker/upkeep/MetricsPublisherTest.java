package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Request;
import io.waybill.worker.metrics.MetricsFile;
import io.waybill.worker.metrics.WorkerFigures;
import io.waybill.worker.publish.PublishingRoom;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The figures of a worker in its directory: when they are published, and what happens when they can't be. */
@Timeout(60)
class MetricsPublisherTest {

    @TempDir
    private Path directory;

    private PublishingRoom room;
    private Path file;
    private Map<String, Long> values = Map.of("gauge", 5L);
    private MetricsPublisher publisher;

    @BeforeEach
    void open() throws Exception {
        room = new PublishingRoom(directory);
        file = room.directory.path().resolve("metrics");
        publisher = new MetricsPublisher(room.directory, room.counters, room.links, () -> values);
    }

    @AfterEach
    void close() throws IOException {
        room.close();
    }

    private Optional<WorkerFigures> published() throws IOException {
        return MetricsFile.read(room.directory.info(), room.directory.path(), room.host.files());
    }

    private long value(String name) throws IOException {
        Optional<WorkerFigures> figures = published();
        assertThat(figures).as("figures, of which %s is one", name).isPresent();
        return figures.get().metrics().values().getOrDefault(name, -1L);
    }

    /** Returns whether figures are published now. */
    private boolean publishes() throws IOException {
        Files.deleteIfExists(file);
        publisher.doWork();
        return Files.exists(file);
    }

    private void serve() {
        room.counters
                .served()
                .of(Request.operation("a", "text.echo"), room.directory.id(), "a")
                .begun();
    }

    @Test
    void theFiguresAreInTheDirectoryOfTheWorker() throws Exception {
        assertThat(published()).as("figures before the first look").isEmpty();
        serve();
        publisher.doWork();
        WorkerFigures figures = published().orElseThrow();
        assertThat(figures.metrics().worker()).as("the worker").isEqualTo(room.directory.info());
        assertThat(figures.metrics().epoch()).as("its epoch").isEqualTo(room.directory.epoch());
        assertThat(figures.metrics().served()).as("operations that it serves").hasSize(1);
        assertThat(value("gauge")).as("a gauge").isEqualTo(5);
        assertThat(value("requests.in-flight")).as("requests in flight").isEqualTo(1);
        assertThat(figures.metrics().values().keySet())
                .as("the names of the figures, some of them of the virtual machine")
                .anyMatch(name -> name.startsWith("jvm."));
        assertThat(figures.unread()).as("unread requests by peer").isEmpty();
    }

    @Test
    void nothingIsPublishedWithoutAChange() throws Exception {
        assertThat(publishes()).as("whether the first look publishes").isTrue();
        assertThat(publishes()).as("whether the next look publishes the same").isFalse();
        values = Map.of("gauge", 5L);
        assertThat(publishes()).as("whether an equal gauge is published").isFalse();
    }

    @Test
    void eachKindOfChangeIsPublished() throws Exception {
        publisher.doWork();
        values = Map.of("gauge", 6L);
        assertThat(publishes()).as("whether another gauge is published").isTrue();
        assertThat(value("gauge")).as("the gauge").isEqualTo(6);
        serve();
        assertThat(publishes()).as("whether a request is published").isTrue();
        room.link().flow().sent(8);
        assertThat(publishes()).as("whether an unread request is published").isTrue();
        assertThat(published().orElseThrow().unread())
                .as("unread requests by peer")
                .isEqualTo(Map.of(room.directory.id(), 1L));
        assertThat(publishes()).as("whether the same is published again").isFalse();
    }

    @Test
    void figuresThatCouldNotBeWrittenAreWrittenAtTheNextLook() throws Exception {
        Files.createDirectories(file.resolve("in the way"));
        publisher.doWork();
        publisher.doWork();
        assertThat(file).as("what was in the way").isDirectory();
        Files.delete(file.resolve("in the way"));
        Files.delete(file);
        publisher.doWork();
        assertThat(value("gauge"))
                .as("the gauge, once there is nothing in the way")
                .isEqualTo(5);
    }

    @Test
    void theLastFiguresArePublishedAtTheEnd() throws Exception {
        publisher.doWork();
        values = Map.of("gauge", 7L);
        publisher.onClose();
        assertThat(value("gauge")).as("the gauge at the end").isEqualTo(7);
    }

    @Test
    void aPublisherThatWasNeverStartedCanBeClosed() throws Exception {
        publisher.close();
        publisher.close();
        assertThat(published()).as("figures").isEmpty();
    }
}
