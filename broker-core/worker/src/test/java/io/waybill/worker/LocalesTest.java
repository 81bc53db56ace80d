package io.waybill.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.api.Message;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.handler.HandlesMessage;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.handler.NonBlocking;
import io.waybill.api.handler.Outbox;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Programs with a worker in locales that have digits and letters of their own. */
@Timeout(120)
class LocalesTest {

    private static final String TEXT = "naïve café — 日本";

    @TempDir
    Path directory;

    /** The program: joins, calls itself, and prints the response. */
    public static void main(String[] args) throws Exception {
        try (Worker worker =
                Waybill.connect(Path.of(args[0]), "alone").with(new Count()).join()) {
            Request request = Request.operation("alone", "text.count");
            request.body().text("text", TEXT);
            try (Response response = worker.call(request)) {
                System.out.println("ended " + response.int64("length"));
            }
        }
    }

    /** Counts the characters of a text. */
    @HandlesMessage("text.count")
    @NonBlocking
    static final class Count implements MessageHandler {
        @Override
        public void handle(Message message, Outbox outbox) throws RejectedMessageException {
            outbox.response().int64("length", message.text("text").length());
        }
    }

    @ParameterizedTest
    @CsvSource({"ar, EG, u-nu-arab", "fa, IR, u-nu-arabext", "bn, BD, u-nu-beng", "tr, TR, ''"})
    void worksAndWritesTheDigitsOfEveryOther(String language, String region, String extensions) throws Exception {
        Path home = directory.resolve("home");
        String output = run(home, language, region, extensions);
        assertThat(output).as("what the program says").contains("ended 15");
        List<String> names = new ArrayList<>();
        try (Stream<Path> all = Files.walk(home)) {
            all.forEach(path -> names.add(home.relativize(path).toString()));
        }
        assertThat(names).as("names of files").allMatch(LocalesTest::isAscii);
        Path worker = home.resolve("workers/0-alone");
        assertThat(Files.readString(worker.resolve("lock/owner"))).isEqualTo("1                   \n");
        assertThat(Files.readString(worker.resolve("worker.json"))).matches(LocalesTest::isAscii);
    }

    private static boolean isAscii(String text) {
        return text.chars().allMatch(c -> c < 0x80);
    }

    private String run(Path home, String language, String region, String extensions) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        for (String flag : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
            if (flag.startsWith("--add-") || flag.startsWith("-Dslf4j") || flag.startsWith("-Djava.io.tmpdir")) {
                command.add(flag);
            }
        }
        Map.of("user.language", language, "user.region", region, "user.extensions", extensions)
                .forEach((name, value) -> command.add("-D" + name + "=" + value));
        command.addAll(List.of("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
        command.addAll(List.of("-cp", System.getProperty("java.class.path")));
        command.addAll(List.of(LocalesTest.class.getName(), home.toString()));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        try {
            return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        } finally {
            process.destroyForcibly();
        }
    }
}
