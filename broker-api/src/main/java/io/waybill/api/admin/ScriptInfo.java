package io.waybill.api.admin;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * Status of a TorchScript file that a node serves. Immutable.
 *
 * @param module first part of its functions' names; empty if it has no usable one
 * @param source the deployed path
 * @param sha256 hash of the running script, in hexadecimal; empty if none runs
 * @param since time at which it began to run, or was rejected
 * @param functions schemas of the running functions
 * @param problem problem of the present file, if any
 */
public record ScriptInfo(
        String module, String source, String sha256, Instant since, List<String> functions, Optional<String> problem) {

    public ScriptInfo {
        functions = List.copyOf(functions);
    }
}
