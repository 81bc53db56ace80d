package io.waybill.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.waybill.cli.Commands;
import io.waybill.cli.command.Surroundings;
import io.waybill.home.Home;
import io.waybill.home.WorkerDirectory;
import io.waybill.host.Host;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Homes as operators have them: what the doctor says of each, what those commands say that look at it, and what one says that joins. */
@Timeout(120)
class OperatorHomesTest {

    private static final Host HOST = Host.real();
    private static final boolean IS_ROOT = HOST.files().owner() == 0;
    private static final int OTHER_USER = 12_345;
    private static final String FINE = "";
    private static final List<String> LOOKING = List.of("workers --all", "journal list", "journal stats");

    /** Puts a home somewhere, or something that is none; returns where. */
    private interface Making {
        Path in(Path directory, Path home) throws Exception;
    }

    /** A row: the doctor's line, and the error of commands that look and of those that join; {@link #FINE} for none. */
    private enum Row {
        AS_IT_WAS_MADE("ok +home", FINE, FINE, (directory, home) -> home),
        NOT_THERE(
                "ok +home .*made by the first worker",
                "no home at",
                FINE,
                (directory, home) -> directory.resolve("new")),
        BEHIND_AN_OWN_LINK(
                "ok +home", FINE, FINE, (directory, home) -> Files.createSymbolicLink(directory.resolve("link"), home)),
        BEHIND_A_LINK_OF_ANOTHER_USER(
                "missing +home .*symbolic link owned by uid 12345, which is not followed",
                "symbolic link owned by uid 12345, which is not followed",
                "symbolic link owned by uid 12345, which is not followed",
                (directory, home) -> {
                    Path link = Files.createSymbolicLink(directory.resolve("link"), home);
                    return ofAnotherUser(link);
                }),
        OF_ANOTHER_USER(
                "missing +home .*expected one of uid .*; run as that user",
                "run as that user",
                "run as that user",
                (directory, home) -> IS_ROOT ? ofAnotherUser(home) : Path.of("/etc")),
        BESIDE_A_SNAPSHOT_OF_HARD_LINKS(
                "warning +hard links .*changes with them; copy with cp -a", FINE, FINE, (directory, home) -> {
                    snapshot(directory, home);
                    return home;
                }),
        A_SNAPSHOT_OF_HARD_LINKS(
                "missing +hard links .*it can be read, and not joined; copy the content",
                FINE,
                "found a copy of hard links to another home",
                OperatorHomesTest::snapshot),
        A_COPY_WITH_THE_CONTENT(
                "ok +home", FINE, FINE, (directory, home) -> run(directory, "cp", "-a", home.toString(), "copy")),
        OPEN_TO_OTHERS(
                "missing +home .*found mode 0755; chmod 700",
                "found mode 0755",
                "found mode 0755",
                (directory, home) -> mode(home, "rwxr-xr-x")),
        WITHOUT_PERMISSION_TO_WRITE(
                "missing +home .*is not writable: mode 0500",
                FINE,
                "is not writable: mode 0500",
                (directory, home) -> mode(home, "r-x------")),
        ON_A_READ_ONLY_MOUNT("missing +home .*is not writable", FINE, "is not writable", (directory, home) -> {
            assumeTrue(IS_ROOT, "only root mounts");
            assumeTrue(exitOf("mount", "--bind", home.toString(), home.toString()) == 0, "no right to mount");
            assertThat(exitOf("mount", "-o", "remount,ro,bind", home.toString()))
                    .isZero();
            return home;
        }),
        OF_ANOTHER_FORMAT(
                "missing +home .*expected format 1 or 2, found 7 in .*; use the version of Waybill that made it",
                "expected format 1 or 2, found 7",
                "expected format 1 or 2, found 7",
                (directory, home) -> {
                    Files.writeString(home.resolve("home.properties"), "format=7\n");
                    return home;
                }),
        A_DIRECTORY_WITH_OTHER_FILES(
                "missing +home .*is no home and not empty: it holds notes",
                "no home at",
                "is no home and not empty: it holds notes",
                (directory, home) -> {
                    Path other = HOST.files().createPrivateDirectory(directory.resolve("other"));
                    Files.writeString(other.resolve("notes"), "x");
                    return other;
                });

        private final String diagnosis;
        private final String looking;
        private final String joining;
        private final Making making;

        Row(String diagnosis, String looking, String joining, Making making) {
            this.diagnosis = diagnosis;
            this.looking = looking;
            this.joining = joining;
            this.making = making;
        }
    }

    @TempDir
    Path directory;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private static Path mode(Path home, String permissions) throws IOException {
        return Files.setPosixFilePermissions(home, PosixFilePermissions.fromString(permissions));
    }

    private static Path ofAnotherUser(Path path) throws IOException {
        assumeTrue(IS_ROOT, "only root gives a file away");
        return Files.setAttribute(path, "unix:uid", OTHER_USER, LinkOption.NOFOLLOW_LINKS);
    }

    private static Path snapshot(Path directory, Path home) throws Exception {
        return run(directory, "cp", "-al", home.toString(), "snapshot");
    }

    /** Runs a command whose last argument is a name in the directory; returns that path. */
    private static Path run(Path directory, String... command) throws Exception {
        Path last = directory.resolve(command[command.length - 1]);
        command[command.length - 1] = last.toString();
        assertThat(exitOf(command)).isZero();
        return last;
    }

    private static int exitOf(String... command) throws Exception {
        return new ProcessBuilder(command).start().waitFor();
    }

    private int waybill(Path home, String... command) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        return Commands.run(
                new Surroundings(
                        new PrintWriter(out),
                        new PrintWriter(err),
                        Surroundings.Watcher.PROGRAM,
                        home,
                        Optional.empty(),
                        directory,
                        "17",
                        Map.of()),
                command);
    }

    @ParameterizedTest
    @EnumSource(Row.class)
    void areUsedOrRefusedAsTheDoctorSays(Row row) throws Exception {
        Home made = Home.open(directory.resolve("home"), HOST);
        made.join("ps0").leave();
        Path home = row.making.in(directory, made.path());
        try {
            boolean isMissing = row.diagnosis.startsWith("missing");
            assertThat(waybill(home, "doctor")).isEqualTo(isMissing ? 1 : 0);
            assertThat(out.toString()).containsPattern("(?m)^" + row.diagnosis);
            assertThat(out.toString().lines().filter(line -> line.startsWith("missing")))
                    .hasSize(isMissing ? 1 : 0);
            for (String command : LOOKING) {
                int exit = waybill(home, command.split(" "));
                assertThat(err.toString()).as(command).contains(row.looking);
                assertThat(exit).as(command + ": " + err).isEqualTo(row.looking.equals(FINE) ? 0 : 1);
            }
            assertThat(joining(home)).contains(row.joining);
            assertThat(joining(home).isEmpty()).as(joining(home)).isEqualTo(row.joining.equals(FINE));
        } finally {
            if (row == Row.ON_A_READ_ONLY_MOUNT) {
                exitOf("umount", home.toString());
            }
            mode(made.path(), "rwx------");
        }
    }

    private static String joining(Path home) {
        try (WorkerDirectory joined = Home.open(home, HOST).join("ps1")) {
            assertThat(joined.name()).isEqualTo("ps1");
            return "";
        } catch (IOException e) {
            return String.valueOf(e.getMessage());
        }
    }
}
