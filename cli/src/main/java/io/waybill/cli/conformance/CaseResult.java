package io.waybill.cli.conformance;

import java.nio.file.Path;

/**
 * What came of a case. Immutable.
 *
 * @param text why it failed or was skipped; empty when it passed
 */
public record CaseResult(Path file, String name, Verdict verdict, String text, long tookNs) {

    /** What a case may come to. */
    public enum Verdict {
        PASSED,
        FAILED,
        SKIPPED
    }
}
