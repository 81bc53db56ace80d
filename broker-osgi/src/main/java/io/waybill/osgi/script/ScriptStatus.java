package io.waybill.osgi.script;

import java.util.List;
import java.util.Optional;

/**
 * Status of a script, for operators.
 *
 * @param module the first part of its functions' names; empty when it has no usable one
 * @param origin the deployed path
 * @param sha256 of the running script, in hexadecimal; empty when none runs
 * @param sinceWallNs when it began to run, or was rejected
 * @param schemas of the running functions
 * @param problem of the present file, if any
 */
public record ScriptStatus(
        String module, String origin, String sha256, long sinceWallNs, List<String> schemas, Optional<String> problem) {

    public ScriptStatus {
        schemas = List.copyOf(schemas);
    }
}
