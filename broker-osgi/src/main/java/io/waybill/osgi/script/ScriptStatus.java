package io.waybill.osgi.script;

import java.util.List;
import java.util.Optional;

/**
 * Status of a script, for operators.
 *
 * @param module the first part of its functions' names; empty if it has no usable one
 * @param origin the deployed path
 * @param sha256 hash of the running script, in hexadecimal; empty if none runs
 * @param sinceWallNs time at which it began to run, or was rejected
 * @param schemas schemas of the running functions
 * @param problem problem of the present file, if any
 */
public record ScriptStatus(
        String module, String origin, String sha256, long sinceWallNs, List<String> schemas, Optional<String> problem) {

    public ScriptStatus {
        schemas = List.copyOf(schemas);
    }
}
