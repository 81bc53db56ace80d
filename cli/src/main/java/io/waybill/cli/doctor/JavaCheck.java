package io.waybill.cli.doctor;

import io.waybill.host.NativeCalls;
import io.waybill.journal.ChronicleFlags;
import java.lang.Runtime.Version;

/** Checks the Java runtime: its version, its flags, and whether it can call the C library. Stateless. */
final class JavaCheck {

    private static final int OLDEST = 17;
    private static final int NEWEST = 25;
    /** Java version from which faults on mapped memory surface at the faulting access. */
    private static final int FAULTS_IN_PLACE = 19;

    private JavaCheck() {}

    /**
     * Adds the results.
     *
     * @param java such as {@code 17.0.15 in /usr/lib/jvm/java-17}
     */
    static void run(Diagnoses findings, String java) {
        version(findings, java);
        try {
            ChronicleFlags.require();
            findings.ok("java flags", "all there");
        } catch (IllegalStateException e) {
            findings.add(
                    Health.MISSING,
                    "java flags",
                    e.getMessage(),
                    "start with bin/waybill, or add them: docs/operating/java.md");
        }
        try {
            NativeCalls.load();
            findings.ok("native calls", "the C library can be called");
        } catch (LinkageError | RuntimeException e) {
            findings.add(
                    Health.MISSING,
                    "native calls",
                    "the C library can't be called: " + e,
                    "run on Linux on amd64, with lib/native of the distribution complete");
        }
    }

    private static void version(Diagnoses findings, String java) {
        int feature;
        try {
            feature = Version.parse(java.split(" ", 2)[0]).feature();
        } catch (IllegalArgumentException e) {
            findings.add(Health.WARNING, "java", java, "its version is unknown: use a JDK from 17 to 25");
            return;
        }
        if (feature < OLDEST || feature > NEWEST) {
            findings.add(Health.MISSING, "java", java, "install a JDK from 17 to 25, or name its java in WAYBILL_JAVA");
        } else if (feature < FAULTS_IN_PLACE) {
            findings.add(
                    Health.NOTE,
                    "java",
                    java,
                    "JDK 25 is recommended: faults on mapped memory surface there where they happen");
        } else {
            findings.ok("java", java);
        }
    }
}
