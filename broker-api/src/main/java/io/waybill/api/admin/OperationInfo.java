package io.waybill.api.admin;

import io.waybill.api.handler.OperationDescription;
import java.util.Optional;

/**
 * An operation that a worker serves, or another key or pattern of a handler. Immutable.
 *
 * @param name key, such as {@code text.count} or {@code function:math.scale}; or an operation that was described by the
 *     handler of a pattern
 * @param provider bundle of the handler, or class of a program
 * @param version version of that bundle
 * @param description description by its author, if there is one; untrusted, but within the limits of its class
 */
public record OperationInfo(String name, String provider, String version, Optional<OperationDescription> description) {}
